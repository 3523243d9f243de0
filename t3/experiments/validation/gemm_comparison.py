"""Comparison of the isolated GEMM with a tuned library."""

from dataclasses import dataclass

from sysmodel.config.system import System, load_system
from sysmodel.lib.progress import Report, no_progress
from sysmodel.runs.tuned_library import library_efficiency
from t3.experiments.efficiency import gemm_efficiency

__all__ = ["BOUND_POINTS", "GemmComparison", "compare_gemm"]

BOUND_POINTS = 10.0
_BOUND_FROM_K = 2048
_DEPTHS = (128, 256, 512, 1024, 2048, 4096)
_M, _N = 8192, 4256  # T-NLG's output


@dataclass(frozen=True)
class GemmComparison:
    """Shares of the peak at one K: of the library, the model, the model with one workgroup per CU,
    and the model of the GPU on which the library was measured."""

    k: int
    library: float
    model: float
    single: float
    measured_gpu: float

    @property
    def holds(self) -> bool | None:
        """True if the model is within the bound; None without a bound."""
        if self.k < _BOUND_FROM_K:
            return None
        ours = (self.model, self.measured_gpu)
        return all(100 * abs(one - self.library) <= BOUND_POINTS for one in ours)


def compare_gemm(report: Report = no_progress) -> list[GemmComparison]:
    """Simulate the isolated GEMM for several K with the golden engine."""
    usual, found = load_system(), []
    for done, k in enumerate(_DEPTHS):
        report("GEMM alone", done / len(_DEPTHS))
        shares = (
            gemm_efficiency(system, _M, _N, k)
            for system in (usual, _single(usual), load_system("mi210"))
        )
        found.append(GemmComparison(k, library_efficiency(k), *shares))
    return found


def _single(system: System) -> System:
    gpu = system.gpu.model_copy(update={"workgroups_per_cu": 1})
    return system.model_copy(update={"gpu": gpu})
