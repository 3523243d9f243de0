"""Comparison of the model of a GPU with measurements on the GPU."""

from collections.abc import Iterator
from dataclasses import dataclass

from sysmodel.config.system import System, load_system
from sysmodel.engine.codes import READ, WRITE
from sysmodel.lib.progress import Report, no_progress
from t3.experiments.dram.patterns import random_rows, sequential
from t3.experiments.dram.serve import fraction_of_peak, serve
from t3.experiments.efficiency import GemmAlone, gemm_alone

from .references import CardReference, GemmReference, card_reference

__all__ = ["SHARE_BOUND", "CardFigure", "CardGemm", "card_figures", "compare_card_gemms"]

SHARE_BOUND = 0.1  # share of the matrix pipes' peak
_PRESETS = "h200", "h100"
_ALIGNED = 8  # fp16 values in the 16 bytes to which the tensor memory accelerator aligns rows


@dataclass(frozen=True)
class CardGemm:
    """GEMM measured on a card, with the model's GEMM at the card's clock."""

    preset: str
    reference: GemmReference
    measured_share: float
    ours: GemmAlone

    @property
    def holds(self) -> bool | None:
        """True if the shares of the peak are within the bound.

        None if the library uses a kernel for an older GPU, whose units the model lacks.
        """
        if self.reference.k % _ALIGNED:
            return None
        return abs(self.ours.share_of_peak - self.measured_share) <= SHARE_BOUND


@dataclass(frozen=True)
class CardFigure:
    """Other measured figure, with the model's figure."""

    preset: str
    name: str
    unit: str
    measured: float
    ours: float


def compare_card_gemms(report: Report = no_progress) -> list[CardGemm]:
    """Simulate each measured GEMM with the golden engine."""
    measured = [(name, gemm) for name in _PRESETS for gemm in card_reference(name).gemms]
    found = []
    for done, (name, gemm) in enumerate(measured):
        report(f"GEMM on {name}", done / len(measured))
        system = _at_clock(load_system(name), gemm.clock_mhz)
        ours = gemm_alone(system, gemm.m, gemm.n, gemm.k)
        share = ours.share_of_peak * ours.time_ns / gemm.time_ns
        found.append(CardGemm(name, gemm, share, ours))
    return found


def card_figures() -> list[CardFigure]:
    """Compare rates of L2 and writes, latencies, and the start of a kernel."""
    return [
        CardFigure(name, *figure)
        for name in _PRESETS
        for figure in _figures(load_system(name), card_reference(name))
    ]


def _figures(system: System, card: CardReference) -> Iterator[tuple[str, str, float, float]]:
    timing = system.dram.timing_cycles
    l2_gb_per_s = system.l2.slices * system.l2.line_bytes / system.cycle_ns
    yield "L2, read", "GB/s", card.streams_gb_per_s["read of the L2"], l2_gb_per_s
    measured = card.streams_gb_per_s["write"] / system.dram_bytes_per_ns
    ours = fraction_of_peak(timing, sequential(WRITE))
    yield "memory, write", "of the peak", measured, ours
    hit_ns = system.l2.latency_ns
    yield "latency of the L2", "ns", card.hit_ns, hit_ns
    one = int(serve(timing, random_rows(READ, requests=1)).latency_cycles[0])
    own_ns = one * 1e3 / system.dram.clock_mhz + system.dram.read_latency_ns
    yield "latency of the memory", "ns", card.miss_ns, hit_ns + own_ns
    start_ns = system.gpu.kernel_launch_ns
    yield "start of a kernel", "ns", card.kernel_start_ns, start_ns


def _at_clock(system: System, clock_mhz: float) -> System:
    gpu = system.gpu.model_copy(update={"clock_mhz": clock_mhz, "boost_clock_mhz": None})
    return system.model_copy(update={"gpu": gpu})
