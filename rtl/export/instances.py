"""Instances of cells in an export."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .hierarchy import Part
from .names import identifier

__all__ = ["CellInstance", "cell_instances"]

_MODULE = re.compile(r"^module \\(\S+)\n(.*?)^end$", re.DOTALL | re.MULTILINE)
_CELL = re.compile(r"^  cell \\(\S+) \\(\S+)\n((?:    parameter .*\n)*)", re.MULTILINE)
_PARAMETER = re.compile(r"^    parameter \\(\w+) (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class CellInstance:
    """Instance of a cell.

    Parameters
    ----------
    path : str
        Hierarchical name, with dots.
    """

    path: str
    module: str
    parameters: Mapping[str, int]


def cell_instances(parts: Sequence[Part]) -> list[CellInstance]:
    """List all instances of cells below the first module."""
    inside = defaultdict(list)
    for part in parts:
        for module, body in _MODULE.findall(part.rtlil):
            for cell, instance, parameters in _CELL.findall(body):
                values = {name: int(value) for name, value in _PARAMETER.findall(parameters)}
                inside[module].append((cell, identifier(instance), values))
    modules = {module for part in parts for module, _ in _MODULE.findall(part.rtlil)}

    def below(module: str, path: tuple[str, ...]) -> Iterator[CellInstance]:
        for cell, instance, values in inside[module]:
            if cell in modules:
                yield from below(cell, (*path, instance))
            else:
                yield CellInstance(".".join((*path, instance)), cell, values)

    return list(below(parts[0].name, ()))
