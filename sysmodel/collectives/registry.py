"""Registry of the algorithms: every file of this package that defines ``ALGORITHM``."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from sysmodel.config.bundled import known_name, name_key
from sysmodel.config.topology_shapes import Topology
from sysmodel.lib.errors import InputError

from .algorithm import Algorithm
from .schedule import Operation

__all__ = ["algorithm", "algorithms", "library_algorithm"]

_HALVES: tuple[Operation, ...] = ("reduce-scatter", "all-gather")
_DEFINED = re.compile(r"^ALGORITHM\b", re.MULTILINE)


def algorithms() -> dict[str, Algorithm]:
    """Return the algorithms by name, in the order of names."""
    found = (import_module(f".{file.stem}", __package__).ALGORITHM for file in _files())
    return {one.name: one for one in sorted(found, key=lambda one: one.name)}


def algorithm(name: str, field: str = "name") -> Algorithm:
    """Return an algorithm by its name, in any case, with or without hyphens.

    Raises
    ------
    InputError
        No algorithm has that name.
    """
    known = algorithms()
    return known[known_name(field, name, tuple(known))]


def library_algorithm(topology: Topology, named: str | None = None) -> Algorithm:
    """Return the algorithm of the collective library, which does both halves of an all-reduce.

    Parameters
    ----------
    named : str or None
        Algorithm that the system names; None for that of the topology.

    Raises
    ------
    InputError
        No algorithm has that name, or it does not do both halves; the message has the key that
        gives the name.
    """
    field = "collective.algorithm" if named else f"topology {topology.name}: algorithm"
    name = named or topology.algorithm
    found = algorithms()
    lacking = {
        one.name: next(half for half in _HALVES if half not in one.operations)
        for one in found.values()
        if not set(_HALVES) <= set(one.operations)
    }
    known = [one for one in found if one not in lacking]
    for one, half in lacking.items():
        if name_key(one) == name_key(name):
            raise InputError(field, f"{one!r} does no {half}; allowed: {', '.join(known)}")
    return found[known_name(field, name, known)]


def _files() -> Iterator[Path]:
    """Files that define an algorithm; other files of the package are not imported."""
    for folder in sys.modules[__package__].__path__:
        for file in sorted(Path(folder).glob("*.py")):
            if _DEFINED.search(file.read_text(encoding="utf-8")):
                yield file
