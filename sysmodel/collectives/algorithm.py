"""Algorithms: the schedules that one file defines for the operations that it knows."""

from collections.abc import Callable
from dataclasses import dataclass

from .group import Group
from .schedule import Operation, Schedule, Stage

__all__ = ["Algorithm"]

Stages = Callable[[int], tuple[Stage, ...]]
"""Stages of an operation for a number of ranks."""


@dataclass(frozen=True)
class Algorithm:
    """Ways of an algorithm to do one or more operations.

    Parameters
    ----------
    name : str
        Name in commands and files.
    summary : str
        One line for ``t3 collective list``.
    group : callable
        Group of a number of ranks; raises ``ValueError`` if the algorithm cannot have this number.
    stages : mapping
        Stages by operation. An all-reduce that is not listed is the reduce-scatter, followed by the
        all-gather.
    parts : int
        Equal parts into which each owner's data is cut.
    """

    name: str
    summary: str
    group: Callable[[int], Group]
    stages: dict[Operation, Stages]
    parts: int = 1

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Operations that the algorithm can do."""
        halves = {"reduce-scatter", "all-gather"} <= set(self.stages)
        both: tuple[Operation, ...] = ("all-reduce",) if halves else ()
        return tuple(dict.fromkeys((*self.stages, *both)))

    def schedule(self, operation: Operation, ranks: int) -> Schedule:
        """Build the schedule of an operation for a number of ranks.

        Raises
        ------
        ValueError
            The algorithm does not know the operation, or cannot have this number of ranks.
        """
        if operation not in self.operations:
            known = ", ".join(self.operations)
            raise ValueError(f"{self.name} has no {operation}; allowed: {known}")
        parts: tuple[Operation, ...] = (operation,)
        if operation not in self.stages:
            parts = ("reduce-scatter", "all-gather")
        stages = tuple(stage for part in parts for stage in self.stages[part](ranks))
        return Schedule(self.name, operation, self.group(ranks), stages, self.parts)
