"""Programs: named activities in an order, and the chains that run on one machine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sysmodel.config.workload import Workload
from sysmodel.lib.errors import InputError, short

from .activities import Activity, Collective, Gemm
from .checks import check_activities, in_order

__all__ = ["Chain", "Program"]


@dataclass(frozen=True)
class Chain:
    """GEMM, and the collectives of its output: the part of a program that one machine runs.

    Parameters
    ----------
    gemm : Gemm
        GEMM at the begin.
    reduction : Collective or None
        Reduce-scatter or all-reduce of its output.
    gather : Collective or None
        All-gather of the reduce-scatter.
    """

    gemm: Gemm
    reduction: Collective | None = None
    gather: Collective | None = None

    @property
    def collectives(self) -> tuple[Collective, ...]:
        """Collectives in the order in which they run."""
        return tuple(one for one in (self.reduction, self.gather) if one is not None)

    @property
    def activities(self) -> tuple[Activity, ...]:
        """GEMM and collectives in the order in which they run."""
        return self.gemm, *self.collectives


@dataclass(frozen=True)
class Program:
    """Activities of a run.

    Parameters
    ----------
    name : str
        Name in tables and results.
    activities : sequence of Gemm and Collective
        Up to ``MOST_ACTIVITIES``; the place of each is its number in the counters.
    description : str
        One line for ``t3 program list``.

    Raises
    ------
    InputError
        The activities make no program; the message names the activity, its field, and the allowed
        values.
    """

    name: str
    activities: tuple[Activity, ...]
    description: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            problem = f"{short(self.name)} is not allowed; allowed: a string that is not empty"
            raise InputError("program.name", problem)
        if not isinstance(self.activities, Sequence) or isinstance(self.activities, str):
            problem = f"{short(self.activities)} is not allowed; allowed: a list of activities"
            raise InputError(f"program {self.name}: activities", problem)
        object.__setattr__(self, "activities", tuple(self.activities))
        try:
            check_activities(self.activities)
        except InputError as error:
            raise InputError(f"program {self.name}: {error.field}", error.problem) from error

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the activities, by number."""
        return tuple(one.name for one in self.activities)

    def number(self, activity: Activity) -> int:
        """Number of an activity, by which the counters count it."""
        return self.activities.index(activity)

    @property
    def gemms(self) -> tuple[Gemm, ...]:
        """All GEMMs."""
        return tuple(one for one in self.activities if isinstance(one, Gemm))

    @property
    def collectives(self) -> tuple[Collective, ...]:
        """All collectives."""
        return tuple(one for one in self.activities if isinstance(one, Collective))

    @property
    def updaters(self) -> tuple[str, ...]:
        """Names of the activities whose stores the memory may add: GEMMs and reductions."""
        return tuple(one.name for one in self.activities if isinstance(one, Gemm) or one.reduces)

    @property
    def in_order(self) -> tuple[Activity, ...]:
        """Activities in an order in which each follows those that it needs."""
        return in_order(self.activities)

    @property
    def in_order_collectives(self) -> tuple[Collective, ...]:
        """Collectives, each behind those that it needs."""
        return tuple(one for one in self.in_order if isinstance(one, Collective))

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Chain of each GEMM."""
        by_source = {one.of: one for one in self.collectives}
        chains = []
        for gemm in (one for one in self.in_order if isinstance(one, Gemm)):
            reduction = by_source.get(gemm.name)
            gather = None if reduction is None else by_source.get(reduction.name)
            chains.append(Chain(gemm, reduction, gather))
        return tuple(chains)

    def gathered(self, gemm: Gemm) -> Collective | None:
        """All-gather at the end of the chain before a GEMM's, if the GEMM needs it."""
        chains = self.chains
        gemms = [one.gemm for one in chains]
        before = gemms.index(gemm) - 1
        gather = chains[before].gather if before >= 0 else None
        return gather if gather is not None and gather.name in gemm.needs else None

    def workload_of(self, gemm: Gemm, workload: Workload) -> Workload:
        """Workload of a GEMM, given the run's."""
        size = gemm.size
        if size is None:
            return workload
        return replace(workload, m=size.m, n=size.n, k=size.k)

    def as_dict(self) -> dict[str, Any]:
        """Content for ``result.json``: the name, and a record of each activity."""
        return {"name": self.name, "activities": [_record(one) for one in self.activities]}


def _record(one: Activity) -> dict[str, Any]:
    record: dict[str, Any] = {"name": one.name, "kind": one.kind}
    if isinstance(one, Collective):
        record |= {"of": one.of, "algorithm": one.algorithm}
    elif one.size is not None:
        record["size"] = vars(one.size)
    return record | ({"needs": list(one.needs)} if one.needs else {})
