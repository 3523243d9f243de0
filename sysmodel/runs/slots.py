"""Where the time of the GEMM's workgroup slots goes."""

from dataclasses import asdict, dataclass

__all__ = ["SlotTimes"]


@dataclass(frozen=True, kw_only=True)
class SlotTimes:
    """Mean time of a workgroup slot, by what its workgroup does or waits for; together they are
    the GEMM's time.

    Attributes
    ----------
    launch_ns : float
        It starts up.
    l2_ns, memory_ns : float
        It waits for a step's data, of which the last came through the L2 and the compute unit's
        port to it, or out of the memory.
    lds_ns : float
        It moves them into the LDS.
    pipes_ns : float
        It computes, or waits for another workgroup of its compute unit that does.
    stores_ns : float
        It converts its results, and stores until all has left the compute unit.
    empty_ns : float
        There is none: before the first, between two, after the last. The part of it for which T3's
        flow control keeps it so is ``gemm_throttled_ns``.
    """

    launch_ns: float = 0.0
    l2_ns: float = 0.0
    memory_ns: float = 0.0
    lds_ns: float = 0.0
    pipes_ns: float = 0.0
    stores_ns: float = 0.0
    empty_ns: float = 0.0

    @property
    def shares(self) -> dict[str, float]:
        """Of the whole time, by name without the unit; none if there is no time."""
        times = {name.removesuffix("_ns"): time for name, time in asdict(self).items()}
        whole = sum(times.values())
        return {name: time / whole for name, time in times.items()} if whole else {}
