"""Values that the shell completes. The lists are made without importing the simulation."""

from collections.abc import Callable, Iterable

from sysmodel.collectives.registry import algorithms
from sysmodel.config.bundled import MODELS, PRESETS, PROGRAMS, TOPOLOGIES

__all__ = [
    "Complete",
    "collectives",
    "lists_of",
    "models",
    "presets",
    "programs",
    "topologies",
    "words",
]

Complete = Callable[[str], list[str]]
"""Function from the begin of a value to the values that begin so."""


def words(known: Iterable[str]) -> Complete:
    """Complete one of a few words."""
    listed = list(known)

    def complete(incomplete: str) -> list[str]:
        return [word for word in listed if word.startswith(incomplete)]

    return complete


def lists_of(known: Iterable[str]) -> Complete:
    """Complete the last word of a list that is separated by commas, without repetitions."""
    listed = list(known)

    def complete(incomplete: str) -> list[str]:
        *before, last = incomplete.split(",")
        left = (word for word in listed if word not in before and word.startswith(last))
        return [",".join([*before, word]) for word in left]

    return complete


presets = words(PRESETS.names())
models = words(MODELS.names())
topologies = words(TOPOLOGIES.names())
programs = words(PROGRAMS.names())


def collectives(incomplete: str) -> list[str]:
    """Complete the name of an algorithm."""
    return words(algorithms())(incomplete)
