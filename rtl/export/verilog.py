"""Readable Verilog of a component: distinct modules, plain names, documented ports."""

import re
from collections.abc import Mapping, Sequence
from textwrap import wrap

from .assertions import MACRO, assertions
from .back_end import yosys_verilog
from .hierarchy import Part
from .ports import Port, documented_ports, summary
from .registered import registered_outputs
from .reset_style import ResetStyle
from .tidy import tidy

__all__ = ["readable_verilog"]

_WIDTH = 100
_MODULE = re.compile(r"^(module (\w+) .*?)^endmodule\n", re.DOTALL | re.MULTILINE)
_CLOCKED = re.compile(r"^  input  wire (clk|rst)\b", re.MULTILINE)
_RESETS: dict[ResetStyle, str] = {
    "synchronous": "rst is synchronous and active high",
    "asynchronous": "rst is asynchronous and active high, and has to fall with a clock",
    "none": "no reset, but initial values",
}
_NOTE = (
    "One clock, clk; {reset}. A payload is one packed vector. The "
    "net evaluate_at_start is for simulators: it makes them evaluate processes at time zero. "
    "Modules that begin with t3_ and are not here are cells, in files of their own. With "
    f"{MACRO} defined each module checks itself, in SystemVerilog."
)


def readable_verilog(
    parts: Sequence[Part],
    about: str,
    reset: ResetStyle = "synchronous",
    *,
    holds_inputs: bool = False,
) -> str:
    """Convert a component's modules to Verilog-2001 that needs only the cells.

    The result behaves cycle by cycle like that of :func:`~.back_end.verilog_text`, and has the same
    ports; a port whose name is a keyword gets an underscore at its end.

    Parameters
    ----------
    parts : sequence of Part
        Modules, the component's first.
    about : str
        Text for the comment at the beginning.
    reset : ResetStyle
        Reset style of the parts.
    holds_inputs : bool
        Assert also that input streams of the component follow the protocol.
    """
    text = yosys_verilog("\n".join(part.rtlil for part in parts))
    ports = {part.name: documented_ports(part.component) for part in parts}
    headers = {name: _comments(of_part) for name, of_part in ports.items()}
    top = parts[0]
    head = [*_comment(f"{top.name}: {summary(top.component)}"), "//", *_comment(about), "//"]
    body = _asserted(tidy(text, headers), parts, ports, holds_inputs=holds_inputs)
    return "\n".join([*head, *_comment(_NOTE.format(reset=_RESETS[reset])), "", body])


def _asserted(
    text: str, parts: Sequence[Part], ports: Mapping[str, list[Port]], *, holds_inputs: bool
) -> str:
    """Add assertions at the end of each module."""
    registered = registered_outputs(part.rtlil for part in parts)
    components = {part.name: part.component for part in parts}

    def with_assertions(module: re.Match) -> str:
        body, name = module[1], module[2]
        if name not in components:  # a FIFO of Amaranth's library
            return module[0]
        clocked = set(_CLOCKED.findall(body))
        lines = assertions(
            components[name],
            ports[name],
            clocked,
            registered[name],
            holds_inputs=holds_inputs and name == parts[0].name,
        )
        return f"{body}{lines}endmodule\n"

    return _MODULE.sub(with_assertions, text)


def _comment(text: str, indent: str = "") -> list[str]:
    return [f"{indent}// {line}" for line in wrap(text, _WIDTH - len(indent) - 3)]


def _comments(ports: list[Port]) -> list[tuple[str, str]]:
    """Make the comment before the first port of each interface: description and fields."""
    commented, before = [], None
    for port in ports:
        interface = port.path[:-1] or port.path
        if any(isinstance(name, int) and name > 0 for name in port.path):
            commented.append((port.name, ""))  # documented at the first element
            continue
        texts = []
        if interface != before and port.description:
            texts.append(port.description)
        if port.fields:
            fields = ", ".join(f"{field.name} [{field.bits}]" for field in port.fields)
            texts.append(f"{port.path[-1]}: {fields}.")
        lines = _comment(" ".join(texts), "  ")
        commented.append((port.name, "".join(f"{line}\n" for line in lines)))
        before = interface
    return commented
