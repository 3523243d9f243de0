"""Result of a collective alone, with the bandwidths of nccl-tests."""

from dataclasses import dataclass

__all__ = ["CollectiveResult", "bus_factor"]


@dataclass(frozen=True, kw_only=True)
class CollectiveResult:
    """Result of a collective alone.

    Parameters
    ----------
    operation : str
        Operation of the schedule; ``all-to-all-v`` if the chunks differ in size.
    message_bytes : int
        Size as nccl-tests count it; see :func:`.collective_alone.simulate_collective`.
    channels : int
        Simulated memory channels of each GPU.
    time_ns : float
        From the kernel's launch, which the time contains, to the last byte in the memory.
    bound_ns : float
        Least time that the links and the memory allow.
    sent_bytes, read_bytes, written_bytes : int
        Payload that leaves the busiest GPU, and its memory accesses.
    sums_in_switches : int
        Most sums of an atom that waited in the switches at once; 0 if no switch adds packets. It is
        scaled from the simulated channel with the most.
    """

    name: str
    operation: str
    topology: str
    gpus: int
    message_bytes: int
    channels: int
    time_ns: float
    bound_ns: float
    sent_bytes: int
    read_bytes: int
    written_bytes: int
    sums_in_switches: int = 0

    @property
    def algorithm_gb_per_s(self) -> float:
        """Message over time: the algorithm bandwidth of nccl-tests."""
        return self.message_bytes / self.time_ns

    @property
    def bus_gb_per_s(self) -> float:
        """Algorithm bandwidth times the operation's factor: the bus bandwidth of nccl-tests."""
        return self.algorithm_gb_per_s * bus_factor(self.operation, self.gpus)

    @property
    def share_of_bound(self) -> float:
        """Bound over time."""
        return self.bound_ns / self.time_ns


def bus_factor(operation: str, gpus: int) -> float:
    """Factor from algorithm to bus bandwidth, as in doc/PERFORMANCE.md of nccl-tests."""
    if operation == "send":
        return 1.0
    return (2 if operation == "all-reduce" else 1) * (gpus - 1) / gpus
