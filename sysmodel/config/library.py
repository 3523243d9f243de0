"""Collective library: the costs of its protocols, and its choice between them."""

from typing import Annotated

from .schema import PowerOfTwo, Strict, integer, number, power_of_two, text

__all__ = ["Collective", "LowLatencyProtocol", "Protocol"]


class Protocol(Strict):
    """Costs of a protocol of a collective library, beyond kernel launch, memory and link.

    A reduce-scatter and an all-gather each have a fixed cost, and a cost in each step.
    """

    reduce_scatter_ns: float = number(0, 1e6)
    all_gather_ns: float = number(0, 1e6)
    step_ns: float = number(0, 1e6)

    @property
    def share_of_stores(self) -> float:
        """Payload of the protocol's packets, as a share of that of plain stores."""
        return 1.0

    def all_reduce_ns(self, chunk_bytes: float, gpus: int, stores_gb_per_s: float) -> float:
        """Estimate the time of an all-reduce, without what all protocols pay alike."""
        sends_ns = chunk_bytes / (stores_gb_per_s * self.share_of_stores)
        return (
            self.reduce_scatter_ns + self.all_gather_ns + 2 * (gpus - 1) * (self.step_ns + sends_ns)
        )


class LowLatencyProtocol(Protocol):
    """Protocol for chunks of up to ``most_chunk_kib``; 0 if the library has none.

    Its packets also carry flags: the payload is ``payload_share`` of that of plain stores.
    """

    most_chunk_kib: float = number(0, 1 << 20)
    payload_share: float = number(0.01, 1)

    @property
    def share_of_stores(self) -> float:
        """Payload of the protocol's packets, as a share of that of plain stores."""
        return self.payload_share


class Collective(Protocol):
    """Reduce-scatter and all-gather kernels of a collective library, with one workgroup on each of
    at most ``most_compute_units`` CUs.

    ``algorithm`` is one of ``t3 collective list``; without it, the topology's.
    """

    most_compute_units: int = integer(1, 1024)
    waves_per_cu: int = integer(1, 32)
    bytes_in_flight_per_wave: PowerOfTwo = power_of_two(1024, 1 << 20)
    low_latency: LowLatencyProtocol
    algorithm: Annotated[str | None, text()] = None

    def protocol(self, chunk_bytes: float, gpus: int, stores_gb_per_s: float) -> Protocol:
        """Protocol that the library takes for the chunks of an all-reduce, in both halves.

        The low-latency protocol is taken for chunks up to its largest, unless by the costs of the
        two it takes longer: with many GPUs, or on a slow link, the flags cost more than the fixed
        costs save.
        """
        low_latency = self.low_latency
        if chunk_bytes > 1024 * low_latency.most_chunk_kib:
            return self
        message = chunk_bytes, gpus, stores_gb_per_s
        return (
            low_latency
            if low_latency.all_reduce_ns(*message) <= self.all_reduce_ns(*message)
            else self
        )
