"""Link of a system: the default port of a GPU."""

from .schema import PowerOfTwo, Strict, integer, number, power_of_two

__all__ = ["Link"]


class Link(Strict):
    """Port of a GPU: line rate of one direction, latency to another GPU, and the packets of the
    engines that send. A topology divides the rate among links, and may replace any value.

    ``stores_payload_share`` is the share of the line rate that is payload where stores of compute
    units go over the link, as in the kernels of a collective library. T3's packets carry
    ``t3_payload_bytes`` behind ``t3_overhead_bytes`` of header and check bits.
    """

    bandwidth_gb_per_s: float = number(0.1, 100_000)
    latency_ns: float = number(0, 1e7)
    stores_payload_share: float = number(0.01, 1)
    t3_payload_bytes: PowerOfTwo = power_of_two(32, 256)
    t3_overhead_bytes: int = integer(0, 256)

    @property
    def t3_payload_share(self) -> float:
        """Share of the line rate that is payload in T3's packets."""
        return self.t3_payload_bytes / (self.t3_payload_bytes + self.t3_overhead_bytes)

    @property
    def t3_gb_per_s(self) -> float:
        """Rate of the payload in T3's packets."""
        return self.bandwidth_gb_per_s * self.t3_payload_share

    @property
    def stores_gb_per_s(self) -> float:
        """Rate of the payload of stores of the CUs."""
        return self.bandwidth_gb_per_s * self.stores_payload_share
