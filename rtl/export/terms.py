"""Names for numbered nets of the back end, derived from the nets that use them."""

import re
from collections import defaultdict
from collections.abc import Mapping

from .names import TOKEN, identifier

__all__ = ["term_names"]

_NUMBERED = re.compile(r"\\\$(\d+) ")
_ASSIGN = re.compile(r"  assign (\\\S+ |\w+) ?(?:\[[\d:]+\] )?= (.*);")
_BLOCKING = re.compile(r" +(\\\S+ |[A-Za-z_][\w$]*) ?(?:\[[\d:]+\] )?= ")
_INSTANCE = re.compile(r"  (?:\\\S+ |\w+) (\\\S+ |\w+) ?\($")
_PORT = re.compile(r"    \.(\\\S+ |\w+) ?\((.*)\),?$")


def term_names(body: str, names: Mapping[str, str]) -> dict[str, str]:
    """Name numbered nets that are used by a single net.

    ``assign \\$4  = start | measuring; assign ready = \\$4  | choosing;`` makes ``\\$4`` the
    ``ready_term``; several terms are numbered. A net with several users keeps its number.

    Parameters
    ----------
    body : str
        Body of a module, as the back end wrote it.
    names : mapping
        Names of the numbered nets that have a name already.
    """
    readers = _readers(body)
    numbers = {net: int(match[1]) for net in readers if (match := _NUMBERED.fullmatch(net))}
    bases: dict[str, str | None] = {}
    # The user of a net mostly has a higher number, and so is named already.
    for net in sorted(numbers, key=lambda net: -numbers[net]):
        if net not in names:
            found = {_base(reader, names, bases) for reader in readers[net]}
            bases[net] = found.pop() if len(found) == 1 else None
    terms: dict[str, list[str]] = defaultdict(list)
    for net, base in sorted(bases.items(), key=lambda pair: numbers[pair[0]]):
        if base is not None:
            terms[base].append(net)
    return {
        net: f"{base}_term{number if len(nets) > 1 else ''}"
        for base, nets in terms.items()
        for number, net in enumerate(nets, start=1)
    }


def _base(reader: str, names: Mapping[str, str], bases: Mapping[str, str | None]) -> str | None:
    """Determine the base of the name of a net from the net that uses it."""
    if reader in names:
        return identifier(names[reader].strip())
    if _NUMBERED.fullmatch(reader):
        return bases.get(reader)
    return identifier(reader.strip().lstrip("\\"))


def _readers(body: str) -> dict[str, set[str]]:
    """Collect the users of each net: signals, and ports of instances as combined names."""
    readers: dict[str, set[str]] = defaultdict(set)

    def read(text: str, reader: str) -> None:
        for token in TOKEN.findall(text):
            readers[token].add(reader)

    lines = iter(body.splitlines())
    for line in lines:
        if assign := _ASSIGN.match(line):
            read(assign[2], assign[1])
        elif line.startswith("  always"):
            process = [line, next(lines)]
            while line.endswith("begin") and process[-1] != "  end":
                process.append(next(lines))
            targets = {match[1] for one in process if (match := _BLOCKING.match(one))}
            # A register or a memory that reads a net is a user without a name.
            for target in targets or {""}:
                read("\n".join(process), target)
        elif instance := _INSTANCE.match(line):
            while port := _PORT.match(line := next(lines)):
                name = "_".join(one.strip().lstrip("\\") for one in (instance[1], port[1]))
                read(port[2], name)
    return readers
