"""Isolated GEMM: time, efficiency and memory traffic."""

from dataclasses import dataclass

from sysmodel.config.system import System
from sysmodel.gpu.kernel import ATOM_BYTES
from sysmodel.machine.machine import Machine
from sysmodel.machine.sampling import samples, stands_for_all
from sysmodel.machine.tiling import kernel_of
from sysmodel.machine.until import UNTIL_GEMM
from sysmodel.runs.engines import EngineName

__all__ = ["GemmAlone", "gemm_alone", "gemm_efficiency"]

_TP = 2  # GPUs of the ring for which the output is cut; hardly affects the GEMM


@dataclass(frozen=True)
class GemmAlone:
    """Time and memory traffic of a GEMM without other work.

    ``share_of_peak`` is the share of the matrix pipes' rate at the system's clock.
    """

    time_ns: float
    share_of_peak: float
    read_bytes: int
    written_bytes: int


def gemm_alone(system: System, m: int, n: int, k: int, engine: EngineName = "golden") -> GemmAlone:
    """Simulate an isolated ``m`` × ``n`` × ``k`` GEMM with the fewest channels that stand for all.

    Data that the caches still hold at the end does not count as written.
    """
    kernel = kernel_of(system, m, n, k, _TP)
    channels = next(one for one in samples(system) if stands_for_all(system, kernel, one))
    with Machine(
        system, kernel, engine=engine, channels=channels, mirror=True, cached_stores=True
    ) as machine:
        machine.start_kernel()
        machine.run(UNTIL_GEMM)
        time_ns: float = machine.now * system.cycle_ns
        read, written = (
            int(machine.state.gpu[name].sum() * machine.whole) * ATOM_BYTES
            for name in ("reads", "writes")
        )
    return GemmAlone(
        time_ns=time_ns,
        share_of_peak=kernel.flops / (time_ns * system.peak_flops_per_ns),
        read_bytes=read,
        written_bytes=written,
    )


def gemm_efficiency(system: System, m: int, n: int, k: int, engine: EngineName = "golden") -> float:
    """Share of the GPU's peak that an isolated ``m`` × ``n`` × ``k`` GEMM reaches."""
    return gemm_alone(system, m, n, k, engine).share_of_peak
