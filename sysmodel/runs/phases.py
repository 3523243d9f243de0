"""Result of one configuration in cycles of the memory clock."""

from dataclasses import dataclass, field

import numpy as np

from sysmodel.gpu.slots import SLOT_STATES

from .counters import new_counters
from .timeline import Timeline

__all__ = ["PhaseResult"]


@dataclass
class PhaseResult:
    """Times of a configuration's phases, and the events that it counted.

    Attributes
    ----------
    gemm_cycles, rs_cycles, ag_cycles : int
        Time of each phase, from its own first to its own last event.
    total_cycles : int
        Time from the start of the GEMM to the end of the all-gather.
    throttled_cycles : int
        Time in which flow control kept free workgroup slots empty, averaged over all slots.
    slot_cycles : array
        Time of an average slot in each state of :mod:`sysmodel.gpu.slots`, without the empty state.
    stall_cycles : float
        Time in which the tracker kept a memory channel from issuing, averaged over the channels.
    withheld : array or None
        Cycles for which flow control kept each workgroup from a free slot, by GPU and dispatch
        index, in one simulation.
    stores_held : array or None
        Cycles for which the link held each workgroup's last store, by GPU and dispatch index, in
        one simulation.
    withheld_gemm_cycles : int or None
        Time of the GEMM alone with the same waits for flow control; None without such waits.
    held_gemm_cycles : int or None
        Time of the GEMM alone with the same waits for flow control and for the link; None if the
        latter are few.
    counts : array
        Counters of one whole GPU, by phase; see :func:`.counters.new_counters`.
    simulated_cycles : int
        Cycles that were simulated for the result.
    wall_s : float
        Time that the simulation took.
    timeline : Timeline or None
        Timeline of the simulation.
    """

    gemm_cycles: int = 0
    rs_cycles: int = 0
    ag_cycles: int = 0
    total_cycles: int = 0
    throttled_cycles: int = 0
    slot_cycles: np.ndarray = field(default_factory=lambda: np.zeros(SLOT_STATES))
    stall_cycles: float = 0.0
    withheld: np.ndarray | None = None
    stores_held: np.ndarray | None = None
    withheld_gemm_cycles: int | None = None
    held_gemm_cycles: int | None = None
    counts: np.ndarray = field(default_factory=new_counters)
    simulated_cycles: int = 0
    wall_s: float = 0.0
    timeline: Timeline | None = None
