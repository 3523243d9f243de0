"""Rivals: configurations that GPUs of today can run."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .configurations.registry import CONFIGURATIONS

if TYPE_CHECKING:
    from .cycle_result import CycleResult

__all__ = ["fastest_rival", "rivals_among"]


def rivals_among(names: Iterable[str]) -> list[str]:
    """Select the rivals among the names of configurations."""
    return [name for name in names if CONFIGURATIONS[name].rival]


def fastest_rival(results: "Mapping[str, CycleResult]") -> str:
    """Find the rival with the shortest total time; the first one of several.

    Parameters
    ----------
    results : mapping
        Results of a repetition by configuration, ``sequential`` among them.
    """
    return min(rivals_among(results), key=lambda name: results[name].total_cycles)
