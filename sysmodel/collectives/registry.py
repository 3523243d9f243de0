"""Registry of the algorithms: every file of this package that defines ``ALGORITHM``."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from sysmodel.config.bundled import known_name

from .algorithm import Algorithm

__all__ = ["algorithm", "algorithms"]

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


def _files() -> Iterator[Path]:
    """Files that define an algorithm; other files of the package are not imported."""
    for folder in sys.modules[__package__].__path__:
        for file in sorted(Path(folder).glob("*.py")):
            if _DEFINED.search(file.read_text(encoding="utf-8")):
                yield file
