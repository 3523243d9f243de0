"""Variation between the repetitions of a run, as on a real machine.

A repetition draws start times of kernels and workgroups, the skew of each GPU, and the addresses of
the buffers. All configurations of a repetition use the same draw.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from sysmodel.config.system import System
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.geometry.placement import A_ATOM, B_ATOM, OUTPUT_ATOM
from sysmodel.gpu.kernel import Kernel

from .sampling import output_atoms, require_output_atoms, symmetry

__all__ = ["Variation", "moved", "varied"]

_KERNELS = 3  # most kernels of a machine, one after the other: a GEMM, and collectives


@dataclass(frozen=True, kw_only=True)
class Variation:
    """Delays of one repetition, in cycles of the hardware.

    Parameters
    ----------
    kernel : array
        Delay of the start of each kernel, by its place among the machine's kernels.
    skew : array
        Skew of each GPU's GEMM relative to the earliest one.
    workgroup : array
        Delay of each workgroup's launch, (gpus, dispatch indices).
    """

    kernel: np.ndarray
    skew: np.ndarray
    workgroup: np.ndarray


def varied(system: System, kernel: Kernel, seed: int, repetition: int) -> Variation | None:
    """Draw the delays of a repetition; the first repetition has none."""
    if repetition == 0:
        return None
    random = np.random.default_rng([seed, repetition])

    def delays(most_ns: float, *shape: int) -> np.ndarray:
        return random.integers(0, system.cycles(most_ns), shape, endpoint=True)

    most = system.variation
    on_start = delays(most.kernel_launch_ns, _KERNELS)
    behind = delays(most.start_skew_ns, kernel.gpus)
    return Variation(
        kernel=on_start,
        skew=behind - behind.min(),
        workgroup=delays(most.workgroup_launch_ns, kernel.gpus, kernel.workgroups),
    )


def moved(
    system: System,
    kernel: Kernel,
    seed: int,
    repetition: int,
    *,
    channels: int,
    mirror: bool,
    alone: bool = False,
) -> Kernel:
    """Move a kernel's buffers by the page offsets of a repetition.

    The output moves only to an address at which the simulated channels and GPUs still stand for
    all, and stays in place without such an address.
    """
    if repetition == 0:
        return kernel
    random = np.random.default_rng([seed, repetition, 1])
    page = system.variation.page_kib * 1024 // ATOM_BYTES
    pages = system.variation.offset_pages
    a, b = (int(one) * page for one in random.integers(0, pages, 2, endpoint=True))
    placement = replace(kernel.placement, a_atom=A_ATOM + a, b_atom=B_ATOM + b)
    kernel = replace(kernel, placement=placement)
    at_home = _sampled(system, kernel, channels, mirror, alone)
    for offset in random.permutation(pages + 1):
        output = OUTPUT_ATOM + int(offset) * page
        there = replace(kernel, placement=replace(placement, output_atom=output))
        if not there.is_mapped:
            continue
        with suppress(ValueError):
            if _sampled(system, there, channels, mirror, alone) <= at_home:
                return there
    return kernel


def _sampled(system: System, kernel: Kernel, channels: int, mirror: bool, alone: bool) -> int:
    """Symmetry by :func:`.sampling.symmetry` with a mirror, unless the GEMM is ``alone``; then 0.

    Raises
    ------
    ValueError
        If the simulated channels and GPUs do not stand for all.
    """
    atoms = output_atoms(system, kernel, channels)
    require_output_atoms(kernel, atoms, channels, system.dram.channels, alone=alone)
    return symmetry(kernel, atoms, channels) if mirror and not alone else 0
