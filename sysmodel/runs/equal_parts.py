"""Equal parts into which configurations cut the rows of a GEMM."""

from collections.abc import Iterable

from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError
from sysmodel.machine.tiling import kernel_of

from .configurations.registry import Configuration

__all__ = ["equal_parts"]


def equal_parts(
    gemm: str, work: Workload, system: System, configurations: Iterable[Configuration]
) -> dict[str, dict[Kernel, int]]:
    """Kernels of the parts of a GEMM, with their launches, by the way of cutting.

    Raises
    ------
    InputError
        The rows do not divide.
    """
    found: dict[str, dict[Kernel, int]] = {}
    for one in configurations:
        if one.cut == "whole":
            continue
        count = one.parts(work.tp)
        if work.m % count:
            raise InputError(
                "configurations",
                f"{one.title} cuts the {work.m} rows of {gemm} into {count} equal parts; "
                f"allowed: a multiple of {count} rows, or other configurations",
            )
        # The GEMMs of owners run on one GPU alone, all in one simulation.
        gpus, launched = (1, 1) if one.cut == "owners" else (work.tp, count)
        kernel = kernel_of(system, work.m // count, work.n, work.k, gpus)
        found[one.cut] = {kernel: launched}
    return found
