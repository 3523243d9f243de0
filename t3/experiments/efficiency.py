"""Efficiency of the GEMM alone."""

from sysmodel.config.system import System
from sysmodel.machine.machine import Machine
from sysmodel.machine.tiling import kernel_of
from sysmodel.machine.until import UNTIL_GEMM
from sysmodel.runs.result import EngineName

__all__ = ["gemm_efficiency"]

_TP = 8  # GPUs of the ring that the output would be cut for; hardly matters to the GEMM


def gemm_efficiency(system: System, m: int, n: int, k: int, engine: EngineName = "golden") -> float:
    """Share of the GPU's peak that an ``m`` × ``n`` × ``k`` GEMM reaches alone."""
    kernel = kernel_of(system, m, n, k, _TP)
    with Machine(
        system, kernel, engine=engine, channels=1, mirror=True, cached_stores=True
    ) as machine:
        machine.start_kernel()
        machine.run(UNTIL_GEMM)
        ns: float = machine.now * system.cycle_ns
    return kernel.flops / (ns * system.peak_flops_per_ns)
