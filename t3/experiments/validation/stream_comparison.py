"""Comparison of memory streams of whole GPUs with a channel of their presets."""

from dataclasses import dataclass

from sysmodel.config.system import load_system
from t3.experiments.dram.stream_share import stream_share

from .references import StreamReference

__all__ = ["STREAM_BOUND", "StreamComparison", "compare_streams"]

STREAM_BOUND = 0.05  # share of the measured rate

# Arrays that a kernel reads, and writes.
_ARRAYS = {
    **{"read": (1, 0), "dot": (2, 0)},
    **{"copy": (1, 1), "mul": (1, 1)},
    **{"add": (2, 1), "triad": (2, 1)},
}


@dataclass(frozen=True)
class StreamComparison:
    """Rate of a stream, and our share of the peak."""

    reference: StreamReference
    ours: float

    @property
    def measured(self) -> float:
        """Measured share of the data sheet's rate."""
        return self.reference.gb_per_s / load_system(self.reference.gpu).dram_bytes_per_ns

    @property
    def difference(self) -> float:
        """Difference of our share from the measured share, relative to the latter."""
        return self.ours / self.measured - 1

    @property
    def holds(self) -> bool:
        return abs(self.difference) <= STREAM_BOUND


def compare_streams(references: list[StreamReference]) -> list[StreamComparison]:
    """Compare each measured stream with a channel of the GPU's preset."""
    return [
        StreamComparison(
            one, stream_share(load_system(one.gpu).dram.timing_cycles, *_ARRAYS[one.kernel])
        )
        for one in references
    ]
