"""Algorithms: the schedules that one file defines for the operations that it knows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sysmodel.lib.errors import InputError, short

from .costs import Costs
from .group import Group, cyclic
from .schedule import Operation, Schedule, Stage

__all__ = ["MOST_RANKS", "Algorithm"]

MOST_RANKS = 128

Grouping = Callable[[int, int | None], Group]
"""Group of a number of ranks, of which so many are in a node, if that is known."""

Stages = Callable[[Group], tuple[Stage, ...]]
"""Stages of an operation for a group."""


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """Ways of an algorithm to do one or more operations.

    Parameters
    ----------
    name : str
        Name in commands and files.
    summary : str
        One line for ``t3 collective list``.
    stages : mapping
        Stages by operation. An all-reduce that is not listed is the reduce-scatter, followed by the
        all-gather.
    costs : mapping
        Closed forms of the costs by operation, in chunks. They come from the theory of the
        algorithm, not from its stages.
    group : callable
        Group of a number of ranks; raises ``InputError`` if the algorithm cannot have this number.
    parts : int or callable
        Parts into which each owner's data is cut, or their number for a number of ranks.
    streams : bool
        The all-gather of an all-reduce takes the sums piece by piece, as they come.
    """

    name: str
    summary: str
    stages: Mapping[Operation, Stages]
    costs: Mapping[Operation, Callable[[Group], Costs]]
    group: Grouping = cyclic
    parts: int | Callable[[int], int] = 1
    streams: bool = False

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Operations that the algorithm can do."""
        halves = {"reduce-scatter", "all-gather"} <= set(self.stages)
        both: tuple[Operation, ...] = ("all-reduce",) if halves else ()
        return tuple(dict.fromkeys((*self.stages, *both)))

    def schedule(
        self, operation: Operation, ranks: int, ranks_per_node: int | None = None
    ) -> Schedule:
        """Build the schedule of an operation for a number of ranks.

        Raises
        ------
        InputError
            The algorithm does not know the operation, or cannot have this number of ranks.
        """
        group = self._group(ranks, ranks_per_node)
        stages = tuple(
            stage for half in self._halves(operation) for stage in self.stages[half](group)
        )
        parts = self.parts(group.ranks) if callable(self.parts) else self.parts
        streams = self.streams and len(stages) > 1
        return Schedule(self.name, operation, group, stages, parts, streams)

    def closed_form(
        self, operation: Operation, ranks: int, ranks_per_node: int | None = None
    ) -> Costs:
        """Return the costs of a rank in chunks, by the closed forms.

        Raises
        ------
        InputError
            See :meth:`schedule`.
        """
        group = self._group(ranks, ranks_per_node)
        first, *rest = (self.costs[half](group) for half in self._halves(operation))
        return sum(rest, first)

    def _halves(self, operation: Operation) -> tuple[Operation, ...]:
        """Operations whose stages make up an operation."""
        if operation not in self.operations:
            known = ", ".join(self.operations)
            raise InputError(
                "operation", f"{self.name} has no {short(operation)}; allowed: {known}"
            )
        return (operation,) if operation in self.stages else ("reduce-scatter", "all-gather")

    def _group(self, ranks: int, ranks_per_node: int | None) -> Group:
        if not 2 <= ranks <= MOST_RANKS:
            problem = f"{short(ranks)} is not allowed; allowed: 2 to {MOST_RANKS}"
            raise InputError("ranks", problem)
        return self.group(ranks, ranks_per_node)
