"""Soundness of a system: its machine is built and computes the smallest GEMM."""

from contextlib import suppress
from dataclasses import replace

from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import Report, no_progress
from sysmodel.machine.sampling import samples

from .configurations.registry import BASE
from .options import RunOptions
from .plan import Plan
from .simulate import simulate

__all__ = ["check_machine", "smallest_gemm"]

_GPUS = 4
_CHUNK = 2  # workgroups of each GPU's chunk, so that one is computed while another one is sent
# The whole simulation of an ordinary system has fewer reports: one for each 50,000 cycles of a
# phase. A system that takes longer is slow, which is no fault.
_MOST_REPORTS = 600


class _Enough(Exception):
    """End of a check that has simulated enough."""


def smallest_gemm(system: System) -> Workload:
    """Smallest GEMM of four GPUs, or the next number that the topology allows, in which each chunk
    has two workgroups, which are neighbours in the direction of contiguous elements; each workgroup
    fetches more often than it can ahead."""
    gpus = system.topology.next_fit(_GPUS) or system.topology.usual_gpus
    kernel, tiles = system.kernel, gpus * _CHUNK
    column_major = kernel.output_layout == "column-major"
    return Workload(
        model="smallest",
        layer="GEMM",
        tp=gpus,
        m=kernel.tile_m * (tiles if column_major else 1),
        n=kernel.tile_n * (1 if column_major else tiles),
        k=kernel.depth_u * (kernel.prefetch_depth + 1),
    )


def check_machine(system: System, report: Report = no_progress) -> None:
    """Build the machine of a system, and simulate the smallest GEMM with the golden engine.

    Parameters
    ----------
    report : callable
        Receives the progress.

    Raises
    ------
    InputError
        The system cannot be built; the message names a key.
    SimulationError
        The machine reports an error, or waits for ever.
    """
    count = 0

    def counted(task: str, done: float) -> None:
        nonlocal count
        count += 1
        if count > _MOST_REPORTS:
            raise _Enough
        report(task, done)

    try:
        simulate(_plan(system), counted, counts_clocks=False)
    except _Enough:
        return


def _plan(system: System) -> Plan:
    """Plan the smallest GEMM with the fewest channels that stand for all, because the hardware of
    many channels takes longer to elaborate than the check takes."""
    work = smallest_gemm(system)
    options = RunOptions(engine="golden", configurations=(BASE, "t3-critical"))
    for channels in samples(system):
        with suppress(InputError):
            return Plan(work, system, replace(options, channels=channels))
    return Plan(work, system, options)
