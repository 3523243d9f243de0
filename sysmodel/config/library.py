"""Collective library: the costs of its protocols, and its choice between them."""

from typing import Annotated

from .schema import PowerOfTwo, Strict, integer, number, power_of_two, text

__all__ = ["Collective", "InSwitch", "LowLatencyProtocol", "Protocol", "SwitchProtocol"]


class Protocol(Strict):
    """Costs of a protocol of a collective library, beyond kernel launch, memory and link.

    A reduce-scatter and an all-gather each have a fixed cost, and a cost in each step. In one
    kernel, they pay ``together_ns`` instead of both fixed costs, if it is given.
    """

    reduce_scatter_ns: float = number(0, 1e6)
    all_gather_ns: float = number(0, 1e6)
    step_ns: float = number(0, 1e6)
    together_ns: Annotated[float | None, number(0, 1e6)] = None

    def fixed_cost_ns(self, *, reduces: bool, together: bool) -> float:
        """Fixed cost of a half, alone or in one kernel with the other half."""
        if together and self.together_ns is not None:
            return self.together_ns if reduces else 0.0
        return self.reduce_scatter_ns if reduces else self.all_gather_ns

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


class SwitchProtocol(Protocol):
    """Protocol of kernels whose packets switches add and copy."""

    payload_share: float

    @property
    def share_of_stores(self) -> float:
        """Payload of the protocol's packets, as a share of that of plain stores."""
        return self.payload_share


class InSwitch(Strict):
    """All-reduces whose packets switches add and copy, from ``least_gpus`` GPUs and
    ``least_message_kib`` on.

    A kernel has a fixed cost, and fills a pipeline of buffers for ``fill_share`` of the time in
    which its data pass a link, at most for ``most_fill_ns``. From ``large_message_mib`` on, its
    packets have another share of payload. Wavefronts and their loads in flight are those of this
    kernel.
    """

    waves_per_cu: int = integer(1, 32)
    bytes_in_flight_per_wave: PowerOfTwo = power_of_two(1024, 1 << 20)
    least_gpus: int = integer(2, 512)
    least_message_kib: float = number(0, 1 << 20)
    fixed_ns: float = number(0, 1e6)
    fill_share: float = number(0, 10)
    most_fill_ns: float = number(0, 1e6)
    payload_share: float = number(0.01, 1)
    large_message_mib: float = number(0, 1 << 20)
    large_payload_share: float = number(0.01, 1)

    def takes(self, gpus: int, message_bytes: float) -> bool:
        """Test whether the library reduces a message in the switches."""
        return gpus >= self.least_gpus and message_bytes >= 1024 * self.least_message_kib

    def protocol(
        self, chunks: int, message_bytes: float, gpus: int, stores_gb_per_s: float
    ) -> SwitchProtocol:
        """Protocol for a message, of which so many chunks pass a link."""
        large = message_bytes >= self.large_message_mib * 2**20
        share = self.large_payload_share if large else self.payload_share
        wire_ns = chunks * message_bytes / gpus / (stores_gb_per_s * share)
        cost_ns = self.fixed_ns + min(self.fill_share * wire_ns, self.most_fill_ns)
        # Not checked again: the sum of two costs may be larger than what a file may give.
        return SwitchProtocol.model_construct(
            reduce_scatter_ns=cost_ns, all_gather_ns=cost_ns, step_ns=0.0, payload_share=share
        )


class Collective(Protocol):
    """Reduce-scatter and all-gather kernels of a collective library, with one workgroup on each of
    at most ``most_compute_units`` CUs.

    ``algorithm`` is one of ``t3 collective list``; without it, the topology's. All-reduces of up to
    ``direct_most_kib`` go straight from every GPU to every other one, on a full mesh.
    """

    most_compute_units: int = integer(1, 1024)
    waves_per_cu: int = integer(1, 32)
    bytes_in_flight_per_wave: PowerOfTwo = power_of_two(1024, 1 << 20)
    low_latency: LowLatencyProtocol
    algorithm: Annotated[str | None, text()] = None
    direct_most_kib: Annotated[float | None, number(0, 1 << 20)] = None
    in_switch: InSwitch | None = None

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
