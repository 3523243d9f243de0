"""Result of one configuration in cycles of the memory clock, by activity."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from sysmodel.gpu.slots import SLOT_STATES

from .counters import new_counters
from .timeline import Timeline, joined

__all__ = ["CycleResult", "GemmCycles", "in_a_row"]


@dataclass(kw_only=True)
class GemmCycles:
    """Course of one GEMM.

    Attributes
    ----------
    throttled : int
        Time in which flow control kept free workgroup slots empty, averaged over all slots.
    slots : array
        Time of an average slot in each state of :mod:`sysmodel.gpu.slots`, without the empty state.
    withheld : array or None
        Cycles for which flow control kept each workgroup from a free slot, by GPU and dispatch
        index, in one simulation.
    stores_held : array or None
        Cycles for which the link held each workgroup's last store, by GPU and dispatch index, in
        one simulation.
    withheld_alone : int or None
        Time of the GEMM alone with the same waits for flow control; None without such waits.
    held_alone : int or None
        Time of the GEMM alone with the same waits for flow control and for the link; None if the
        latter are few.
    """

    throttled: int = 0
    slots: np.ndarray = field(default_factory=lambda: np.zeros(SLOT_STATES))
    withheld: np.ndarray | None = None
    stores_held: np.ndarray | None = None
    withheld_alone: int | None = None
    held_alone: int | None = None


@dataclass(kw_only=True)
class CycleResult:
    """Times of a configuration's activities, and the events that it counted.

    Attributes
    ----------
    cycles : dict
        Time of each activity by name, from its own first to its own last event.
    total_cycles : int
        Time from the start of the first activity to the end of the last one.
    gemms : dict
        Course of each GEMM by name.
    stall_cycles : float
        Time in which the tracker kept a memory channel from issuing, averaged over the channels.
    counts : array
        Counters of one whole GPU, by the number of the activity; see
        :func:`.counters.new_counters`.
    simulated_cycles : int
        Cycles that were simulated for the result.
    wall_s : float
        Time that the simulation took.
    timeline : Timeline or None
        Timeline of the simulation.
    chosen : dict
        What the configuration chose for an activity, in words, by the activity's name.
    """

    cycles: dict[str, int] = field(default_factory=dict)
    total_cycles: int = 0
    gemms: dict[str, GemmCycles] = field(default_factory=dict)
    stall_cycles: float = 0.0
    counts: np.ndarray = field(default_factory=new_counters)
    simulated_cycles: int = 0
    wall_s: float = 0.0
    timeline: Timeline | None = None
    chosen: dict[str, str] = field(default_factory=dict)

    def again(self) -> "CycleResult":
        """Return the result for another use, which costs no simulation."""
        return replace(self, simulated_cycles=0, wall_s=0.0)


def in_a_row(results: Iterable[CycleResult], cycle_ns: float) -> CycleResult:
    """Join the results of different activities that run one after the other."""
    parts = list(results)
    if len(parts) == 1:
        return parts[0]
    counts = new_counters()
    for name in counts.dtype.names or ():
        counts[name] = sum(one.counts[name] for one in parts)
    return CycleResult(
        cycles={name: time for one in parts for name, time in one.cycles.items()},
        total_cycles=sum(one.total_cycles for one in parts),
        gemms={name: gemm for one in parts for name, gemm in one.gemms.items()},
        stall_cycles=sum(one.stall_cycles for one in parts),
        counts=counts,
        simulated_cycles=sum(one.simulated_cycles for one in parts),
        wall_s=sum(one.wall_s for one in parts),
        timeline=_joined_timeline(parts, cycle_ns),
        chosen={name: words for one in parts for name, words in one.chosen.items()},
    )


def _joined_timeline(parts: list[CycleResult], cycle_ns: float) -> Timeline | None:
    timed = [(one.timeline, one.total_cycles * cycle_ns) for one in parts]
    known = [(timeline, ns) for timeline, ns in timed if timeline is not None]
    return joined(known) if len(known) == len(timed) else None
