"""Comparison of ring collectives on the link model with ASTRA-sim and the closed form."""

from dataclasses import dataclass

from sysmodel.lib.progress import Report, no_progress

from .references import RingReference
from .ring import COLLECTIVES, closed_form_ns, ring_time_ns

__all__ = ["RING_BOUND", "RingComparison", "compare_rings", "other_rings"]

RING_BOUND = 0.01

# Beyond the files: few and many GPUs, tiny buffers, and sizes that no number of GPUs divides.
_OTHERS = (
    (2, 1, 150.0, 500.0),
    (3, 1_000, 75.0, 500.0),
    (7, 12_345, 150.0, 500.0),
    (12, 1_000_003, 75.0, 500.0),
    (16, 8_388_608, 150.0, 500.0),
    (64, 2_000_000, 150.0, 500.0),
    (8, 69_730_304, 450.0, 700.0),
    (5, 3_000_000, 25.0, 5_000.0),
)


@dataclass(frozen=True)
class RingComparison:
    """Time of a collective in a reference and in this model.

    Parameters
    ----------
    reference : RingReference
        Collective with the reference's time.
    ours_ns : float
        Time in this model.
    """

    reference: RingReference
    ours_ns: float

    @property
    def closed_form_ns(self) -> float:
        one = self.reference
        return closed_form_ns(one.gpus, one.buffer_bytes, one.link_gb_per_s, one.link_latency_ns)

    @property
    def difference(self) -> float:
        """Difference of our time from the reference, relative to the reference."""
        return self.ours_ns / self.reference.time_ns - 1

    @property
    def holds(self) -> bool:
        return abs(self.difference) <= RING_BOUND


def other_rings() -> list[RingReference]:
    """List rings that the reference lacks, with the closed form as their time."""
    return [
        RingReference(name, *values, closed_form_ns(*values))
        for name in COLLECTIVES
        for values in _OTHERS
    ]


def compare_rings(
    references: list[RingReference], report: Report = no_progress
) -> list[RingComparison]:
    """Compare every reference time with our time, in order."""
    compared = []
    for i, one in enumerate(references):
        report("rings", i / len(references))
        ours = ring_time_ns(
            one.collective, one.gpus, one.buffer_bytes, one.link_gb_per_s, one.link_latency_ns
        )
        compared.append(RingComparison(one, ours))
    return compared
