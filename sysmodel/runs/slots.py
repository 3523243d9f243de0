"""Times of the GEMM's workgroup slots by state."""

from dataclasses import asdict, dataclass

__all__ = ["SlotTimes"]


@dataclass(frozen=True, kw_only=True)
class SlotTimes:
    """Mean time of a workgroup slot in each state of its workgroup; together they are the GEMM's
    time.

    Attributes
    ----------
    launch_ns : float
        Workgroup starts up.
    l2_ns, memory_ns : float
        Workgroup waits for the data of a step; the last data come through the L2 and the compute
        unit's port, or from the memory.
    lds_ns : float
        Workgroup moves the data into the LDS.
    pipes_ns : float
        Workgroup computes, or waits for a computing workgroup of the same compute unit.
    stores_ns : float
        Workgroup converts and stores its results, until all have left the compute unit.
    link_ns : float
        Part of the latter in which the workgroup's last store waits behind stores that the link has
        not taken; not contained in ``stores_ns``.
    empty_ns : float
        Slot has no workgroup: before the first, between two, after the last. T3's flow control
        causes ``gemm_throttled_ns`` of this time.
    """

    launch_ns: float = 0.0
    l2_ns: float = 0.0
    memory_ns: float = 0.0
    lds_ns: float = 0.0
    pipes_ns: float = 0.0
    stores_ns: float = 0.0
    link_ns: float = 0.0
    empty_ns: float = 0.0

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the whole time, by state; empty if there is no time."""
        times = {name.removesuffix("_ns"): time for name, time in asdict(self).items()}
        whole = sum(times.values())
        return {name: time / whole for name, time in times.items()} if whole else {}
