"""Where the cells of an export are that its own files do not define."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .hierarchy import Part
from .names import identifier

__all__ = ["PlacedCell", "placed_cells"]

_MODULE = re.compile(r"^module \\(\S+)\n(.*?)^end$", re.DOTALL | re.MULTILINE)
_CELL = re.compile(r"^  cell \\(\S+) \\(\S+)\n((?:    parameter .*\n)*)", re.MULTILINE)
_PARAMETER = re.compile(r"^    parameter \\(\w+) (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class PlacedCell:
    """An instance of a cell.

    Parameters
    ----------
    path : str
        Names of the instances that lead to it, and its own, joined by dots.
    module : str
    parameters : mapping of str to int
    """

    path: str
    module: str
    parameters: Mapping[str, int]


def placed_cells(parts: Sequence[Part]) -> list[PlacedCell]:
    """All instances below the first of the modules."""
    inside = defaultdict(list)
    for part in parts:
        for module, body in _MODULE.findall(part.rtlil):
            for cell, instance, parameters in _CELL.findall(body):
                values = {name: int(value) for name, value in _PARAMETER.findall(parameters)}
                inside[module].append((cell, identifier(instance), values))
    modules = {module for part in parts for module, _ in _MODULE.findall(part.rtlil)}

    def below(module: str, path: tuple[str, ...]) -> Iterator[PlacedCell]:
        for cell, instance, values in inside[module]:
            if cell in modules:
                yield from below(cell, (*path, instance))
            else:
                yield PlacedCell(".".join((*path, instance)), cell, values)

    return list(below(parts[0].name, ()))
