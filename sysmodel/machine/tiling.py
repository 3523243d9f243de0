"""Tiling of a problem by a system's GEMM kernel: macro-tiles, and several launches if necessary."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import gcd

import numpy as np

from sysmodel.config.limits import MOST_WORKGROUPS
from sysmodel.config.system import System, Tile
from sysmodel.gpu.geometry.chunks import Chunks
from sysmodel.gpu.geometry.output_layout import OutputLayout
from sysmodel.gpu.geometry.placement import Placement, placed_apart
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError

from .credits import credit_windows
from .tile_choice import gemm_estimate_ns

__all__ = ["apart", "equal_slices", "kernel_of", "launches"]


def apart(kernels: Sequence[Kernel]) -> tuple[Kernel, ...]:
    """Give kernels separate buffers, with the outputs one after the other on page boundaries."""
    places = placed_apart(kernel.layout.atoms for kernel in kernels)
    return tuple(
        replace(kernel, placement=place) for kernel, place in zip(kernels, places, strict=True)
    )


def equal_slices(kernel: Kernel, count: int) -> tuple[Kernel, ...]:
    """Cut a kernel's output into equal slices, each of which is contiguous, with an operand in
    common.

    Raises
    ------
    ValueError
        The rows of contiguous elements do not divide.
    """
    layout, place, total = kernel.layout, kernel.placement, kernel.layout.outer_total
    if total % count:
        axis = "columns" if layout.column_major else "rows"
        raise ValueError(f"{total} {axis} cannot be cut into {count} equal parts")
    one = kernel.slice(total // count)
    operand = total // count * kernel.tiling.operand_stride
    a_atoms, b_atoms = (0, operand) if layout.column_major else (operand, 0)
    return tuple(
        replace(
            one,
            placement=Placement(
                output_atom=place.output_atom + number * (total // count) * layout.stride,
                a_atom=place.a_atom + number * a_atoms,
                b_atom=place.b_atom + number * b_atoms,
            ),
        )
        for number in range(count)
    )


def kernel_of(system: System, m: int, n: int, k: int, gpus: int) -> Kernel:
    """Make the system's GEMM kernel for a problem size, with the preferred macro-tile.

    Raises
    ------
    ValueError
        The matrix has too few macro-tiles for so many GPUs.
    """
    return _preferred(system, m, n, k, gpus)[0]


def launches(
    system: System, m: int, n: int, k: int, gpus: int, contexts: int = 1
) -> tuple[Kernel, ...]:
    """Split a GEMM into the fewest launches that T3 can track, each with its reduce-scatter.

    The tracker's window for one of ``contexts`` and the number of workgroup ids limit a launch. The
    output is cut across its contiguous direction, so every slice is contiguous. The most preferred
    macro-tile that gives equal chunks in all slices is used; without one, the most preferred that
    fits.

    Raises
    ------
    InputError
        If not even one macro-tile per GPU fits.
    """
    kernels = _preferred(system, m, n, k, gpus)
    refused = _refusal(system, kernels[0], contexts)
    if refused is None:
        return (kernels[0],)
    first: tuple[Kernel, ...] = ()
    for kernel in kernels:
        slices = _slices(system, kernel, contexts)
        if slices and all(one.uniform for one in set(slices)):
            return slices
        first = first or slices
    if not first:
        raise refused
    return first


def _preferred(system: System, m: int, n: int, k: int, gpus: int) -> list[Kernel]:
    """Make the kernels of the macro-tiles that are not too large, the preferred one first.

    A macro-tile that gives all GPUs equal chunks is preferred, then the choice of the library.
    """
    kernels: list[Kernel] = []
    for tile in system.kernel.tiles:
        with suppress(ValueError):
            kernels.append(_tiled(system, tile, m, n, k, gpus))
    if not kernels:
        most = max(system.kernel.tiles, key=lambda one: -(-m // one.tile_m) * -(-n // one.tile_n))
        return [_tiled(system, most, m, n, k, gpus)]  # reports how many GPUs are possible
    if system.kernel.tile_choice == "fastest":
        kernels.sort(key=lambda one: gemm_estimate_ns(system, one.tiling))
    return sorted(kernels, key=lambda one: not one.uniform)


def _tiled(system: System, tile: Tile, m: int, n: int, k: int, gpus: int) -> Kernel:
    tiling = Tiling(m=m, n=n, k=k, **tile.model_dump())
    return Kernel(
        OutputLayout(tiling, column_major=system.kernel.output_layout == "column-major"),
        Chunks(tiling=tiling, owners=gpus, workgroup_mapping=system.kernel.workgroup_mapping),
    )


def _refusal(system: System, kernel: Kernel, contexts: int) -> InputError | None:
    """Reason for which the hardware cannot track a kernel in one launch, or None."""
    if kernel.workgroups > MOST_WORKGROUPS:
        return InputError(
            "kernel.tile_m",
            f"{kernel.tiling.m} x {kernel.tiling.n} outputs make {kernel.workgroups} workgroups; "
            f"allowed: up to {MOST_WORKGROUPS}",
        )
    try:
        credit_windows(kernel.chunks, system, contexts)
    except InputError as error:
        return error
    return None


def _slices(system: System, kernel: Kernel, contexts: int) -> tuple[Kernel, ...]:
    """Cut a kernel's output into the fewest, about equal slices that the hardware can track.

    A slice consists of whole units, each of which gives every GPU equally many macro-tiles, or of
    whole rows of macro-tiles, if units do not divide the output or do not fit. The result is empty
    if no slice fits.
    """
    layout = kernel.layout
    tiles = -(-layout.outer_total // layout.outer_extent)
    # Macro-tiles at the edge are smaller: chunks are equal only if each has one.
    shared = 1 if layout.stride % layout.inner_extent else layout.stride // layout.inner_extent
    unit = kernel.gpus // gcd(kernel.gpus, shared)
    for height in (unit, 1) if tiles % unit == 0 else (1,):
        units = tiles // height
        for count in range(1, units + 1):
            ends = [units * (i + 1) // count * height for i in range(count - 1)]
            starts = [0, *(end * layout.outer_extent for end in ends)]
            lengths = np.diff([*starts, layout.outer_total])
            with suppress(ValueError):  # a slice is too small for so many GPUs
                if _refusal(system, kernel.slice(int(lengths.max())), contexts) is None:
                    return tuple(kernel.slice(int(length)) for length in lengths)
    return ()
