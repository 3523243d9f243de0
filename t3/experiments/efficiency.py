"""Isolated GEMM: time, efficiency and memory traffic."""

from dataclasses import dataclass

from sysmodel.config.system import System
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.lib.progress import Report, no_progress
from sysmodel.machine.machine import Machine
from sysmodel.machine.sampling import samples, stands_for_all
from sysmodel.machine.tiling import kernel_of
from sysmodel.machine.until import UNTIL_GEMM
from sysmodel.runs.engines import EngineName

__all__ = ["GemmAlone", "gemm_alone", "gemm_efficiency"]


@dataclass(frozen=True)
class GemmAlone:
    """Time and memory traffic of a GEMM without other work.

    ``share_of_peak`` is the share of the data sheet's peak, at the boost clock.
    """

    time_ns: float
    share_of_peak: float
    read_bytes: int
    written_bytes: int


def gemm_alone(
    system: System,
    m: int,
    n: int,
    k: int,
    gpus: int = 1,
    engine: EngineName = "golden",
    report: Report = no_progress,
) -> GemmAlone:
    """Simulate an isolated ``m`` × ``n`` × ``k`` GEMM with the fewest channels that stand for all.

    The output is cut into equal chunks for ``gpus`` GPUs where a macro-tile allows it, which limits
    the choice of the macro-tile and changes the order of the workgroups. Data that the caches still
    hold at the end does not count as written.
    """
    kernel = kernel_of(system, m, n, k, gpus)
    channels = next(one for one in samples(system) if stands_for_all(system, kernel, one))
    with Machine(
        system,
        kernel,
        engine=engine,
        channels=channels,
        mirror=True,
        cached_stores=True,
        progress=report,
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
        share_of_peak=kernel.tiling.flops / (time_ns * system.peak_flops_per_ns),
        read_bytes=read,
        written_bytes=written,
    )


def gemm_efficiency(system: System, m: int, n: int, k: int, engine: EngineName = "golden") -> float:
    """Share of the GPU's peak that an isolated GEMM reaches whose output is cut for two GPUs."""
    return gemm_alone(system, m, n, k, gpus=2, engine=engine).share_of_peak
