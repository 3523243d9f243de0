"""Clean-up of the back end's Verilog for readability, without a change of its meaning."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from .names import TOKEN, identifier
from .terms import term_names

__all__ = ["tidy"]

_READ = re.compile(rf"(?<!\.)(?:{TOKEN.pattern})")  # not the name of an instance's port
_NAME = r"(\\\S+ |[A-Za-z_][\w$]*)"
_MODULE = re.compile(rf"^module {_NAME} ?\(.*?\);\n(.*?)^endmodule\n", re.DOTALL | re.MULTILINE)
_DECLARATION = re.compile(rf"  (input|output|wire|reg) (\[\d+:\d+\] )?{_NAME} ?( = \S+)?;")
# Attributes of enumerations and of memory ports, and wires without bits.
_NOISE = re.compile(r"^ *(\(\* (enum_\w+|init) = .* \*\)|wire \[-1:0\] .*;)\n", re.MULTILINE)
_TRIGGER = re.compile(r"\\\$auto\$verilog_backend\S+ ")
_ASSIGN = re.compile(rf"  assign {_NAME} ?= (.*);")
_SLICE = re.compile(rf"{_NAME} ?\[(\d+(?::\d+)?)\]")
_FIELD = re.compile(rf"  assign (\\\S+[.\[]\S* ) = {_NAME} ?\[(\d+(?::\d+)?)\];")
_REGISTER = re.compile(rf"  always @\(posedge \w+\)\n    {_NAME} ?<= {_NAME} ?;\n")
_BLOCKING = re.compile(rf"^ +{_NAME} ?(?:\[[\d:]+\] )?= ", re.MULTILINE)


def tidy(text: str, headers: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """Rewrite the modules of a text.

    The rewrite adds features that neither Amaranth nor Yosys offers:

    * ports are in the module's head, documented, in the order of the component's members;
    * slices of a payload have the names of its fields, if these have a name;
    * the input of a register is named after the register, and a net with one user after its user;
    * unused wires are removed: Yosys' ``opt_clean`` skips modules with processes;
    * escaped names are replaced by plain names;
    * processes also start at time zero in SystemVerilog.

    Parameters
    ----------
    text : str
        Output of Yosys' ``write_verilog -norename``.
    headers : mapping
        For each module its ports as (name, comment); a comment is whole lines, or empty.

    Returns
    -------
    str
        Modules whose ports are named by :func:`~rtl.export.names.identifier`.
    """
    modules = {name.strip().lstrip("\\"): body for name, body in _MODULE.findall(text)}
    order = [name for name in headers if name in modules]
    order += [name for name in modules if name not in headers]  # a FIFO of Amaranth's library
    return "\n".join(_module(name, modules[name], headers.get(name, ())) for name in order)


def _module(name: str, body: str, header: Sequence[tuple[str, str]]) -> str:
    body = _started_by_a_net(_NOISE.sub("", body))
    body = _without_unread_wires(_with_fields(body))
    ports, body, escaped = _ports(body, header)
    head = f"module {identifier(name)}" + (f" (\n{ports}\n);\n" if ports else ";\n")
    names = _next_names(body)
    return _renamed(f"{head}{body}endmodule\n", names | term_names(body, names), escaped)


def _started_by_a_net(body: str) -> str:
    """Start processes at time zero by a net instead of a variable with an initial value.

    In SystemVerilog, variables are initialised before any process waits, nets afterwards.
    """
    body = _TRIGGER.sub("evaluate_at_start", body)
    return body.replace("  reg evaluate_at_start = 0;\n", "  wire evaluate_at_start = 1'b0;\n")


def _next_names(body: str) -> dict[str, str]:
    """Name numbered nets that are the input of a register."""
    updates = _REGISTER.findall(body)
    return {net: f"{register.strip()}_next" for register, net in updates if net.startswith("\\$")}


def _with_fields(body: str) -> str:
    """Replace slices in expressions by fields: ``tile_dispatch_index`` for ``tile[15:0]``."""
    # A variable that a process assigns step by step cannot be replaced.
    variables = set(_BLOCKING.findall(body))
    fields: dict[tuple[str, str], str] = {}
    for field, root, bits in _FIELD.findall(body):
        known = fields.get((root, bits))
        # Among several names, prefer an original to a copy, and then the longest name.
        if root not in variables and (
            known is None or (-known.count("$"), len(known)) < (-field.count("$"), len(field))
        ):
            fields[root, bits] = field
    lines = []
    for line in body.splitlines(keepends=True):
        definition = _FIELD.match(line)
        if definition is None or fields.get(definition.groups()[1:]) != definition[1]:
            left, operator, right = line.partition(" = ")
            if not operator:
                left, operator, right = line.partition(" <= ")
            if not operator and re.match(r" +(?:if|casez) \(", line):
                left, right = "", line
            right = _SLICE.sub(lambda m: fields.get((m[1], m[2]), m[0]), right)
            line = left + operator + right
        lines.append(line)
    return "".join(lines)


def _without_unread_wires(body: str) -> str:
    lines = body.splitlines(keepends=True)
    uses = Counter(token for line in lines for token in _READ.findall(line))
    ports = {d[3] for d in map(_DECLARATION.match, lines) if d and d[1] in ("input", "output")}
    declared, assigned = {}, {}
    for number, line in enumerate(lines):
        declaration, assignment = _DECLARATION.match(line), _ASSIGN.match(line)
        if declaration and declaration[1] == "wire" and declaration[3] not in ports:
            declared[declaration[3]] = number
        elif assignment:
            assigned[assignment[1]] = number
    unread = [name for name in declared if uses[name] == 1 + (name in assigned)]
    while unread:
        name = unread.pop()
        lines[declared.pop(name)] = ""
        if name in assigned:
            for token in _READ.findall(lines[assigned[name]]):
                uses[token] -= 1
                if token in declared and uses[token] == 1 + (token in assigned):
                    unread.append(token)
            lines[assigned[name]] = ""
    return "".join(lines)


def _ports(body: str, header: Sequence[tuple[str, str]]) -> tuple[str, str, set[str]]:
    """Move the ports to the module's head; return the head, the body and escaped port names."""
    directions, kinds, lines, escaped = {}, {}, [], set()
    for line in body.splitlines(keepends=True):
        declaration = _DECLARATION.match(line)
        if declaration and declaration[1] in ("input", "output"):
            directions[_plain(declaration[3])] = declaration[1]
            if declaration[3].startswith("\\"):
                escaped.add(declaration[3])
            continue
        name = _plain(declaration[3]) if declaration else None
        if name in directions:
            kinds[name] = (declaration[1], declaration[2] or "", declaration[4] or "")
            continue
        lines.append(line)
    comments = dict(header)
    order = [name for name in ("clk", "rst") if name in directions]
    order += [name for name in comments if name in directions]
    order += [name for name in directions if name not in order]
    text = []
    for name in order:
        kind, bits, initial = kinds[name]
        if comments.get(name):
            text.append(comments[name])
        comma = "" if name == order[-1] else ","
        text.append(f"  {directions[name]:6} {kind:4} {bits}{name}{initial}{comma}\n")
    return "".join(text).rstrip("\n"), "".join(lines), escaped


def _plain(token: str) -> str:
    return identifier(token.strip().lstrip("\\"))


def _renamed(text: str, names: Mapping[str, str], ports: set[str]) -> str:
    """Replace escaped names, and those in ``names``, by distinct plain identifiers.

    A port has the same identifier in the head, in the body, and at instances of its module.
    """
    tokens = dict.fromkeys(TOKEN.findall(text))
    taken = {token for token in tokens if not token.startswith("\\")}
    final = {token: _plain(token) for token in ports}
    for token in tokens:
        if token in ports:
            continue
        if token in names or token.startswith("\\"):
            name = _plain(names.get(token, token))
            while name in taken:
                name += "_"
            taken.add(name)
            final[token] = name

    def replace(match: re.Match) -> str:
        if match.string[match.start() - 1] == ".":  # an instance's port
            return _plain(match[0]) if match[0].startswith("\\") else match[0]
        return final.get(match[0], match[0])

    return TOKEN.sub(replace, text)
