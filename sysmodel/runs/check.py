"""Data mode: a GEMM with real values through the hardware, against the ring-order reduction."""

import time
from collections.abc import Callable

import ml_dtypes
import numpy as np

from sysmodel.config.system import System, load_system
from sysmodel.gpu.kernel import ELEMENTS, Kernel
from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.machine.machine import Machine
from sysmodel.machine.offers import CONTEXT_GEMM
from sysmodel.machine.program import Writes, map_writes
from sysmodel.machine.tiling import launches
from sysmodel.machine.until import UNTIL_REDUCED

from .check_options import CheckOptions, CheckResult, Mismatch

__all__ = ["check", "reference"]

_DTYPES = {
    "fp16": (np.dtype(np.float16), 0x7E00),
    "bf16": (np.dtype(ml_dtypes.bfloat16), 0x7FC0),
}
_COMPUTE_UNITS = 4
_SHOWN = 5
_SETTLING_CYCLES = 16  # in which an error that comes late shows


def _system(channels: int, granularity: str) -> System:
    """A GPU small enough for a check: a few CUs, ``channels`` memory channels with their share of
    the L2 and of the link."""
    full = load_system()
    share = channels / full.dram.channels
    slices = full.l2.slices // full.dram.channels
    return full.model_copy(
        update={
            "name": f"{full.name}, {channels} channels",
            "gpu": full.gpu.model_copy(update={"compute_units": _COMPUTE_UNITS}),
            "dram": full.dram.model_copy(update={"channels": channels}),
            "t3": full.t3.model_copy(update={"granularity": granularity}),
            "l2": full.l2.model_copy(
                update={
                    "slices": slices * channels,
                    "capacity_mib": full.l2.capacity_mib * share,
                }
            ),
            "link": full.link.model_copy(
                update={"bandwidth_gb_per_s": full.link.bandwidth_gb_per_s * share}
            ),
        }
    )


def _products(options: CheckOptions, dtype: np.dtype) -> np.ndarray:
    """Each GPU's product of random operands, accumulated in fp32: (gpus, m, n)."""
    random = np.random.default_rng(options.seed)
    products = np.empty((options.gpus, options.m, options.n), dtype)
    for g in range(options.gpus):
        a = random.standard_normal((options.m, options.k), np.float32).astype(dtype)
        b = random.standard_normal((options.k, options.n), np.float32).astype(dtype)
        products[g] = (a.astype(np.float32) @ b.astype(np.float32)).astype(dtype)
    return products


def _words(kernel: Kernel, matrix: np.ndarray) -> np.ndarray:
    """A matrix in the layout of the output buffer: (atoms, 4) words. Padding is zero."""
    rows = matrix.T if kernel.column_major else matrix
    padded = np.zeros((rows.shape[0], kernel.stride * ELEMENTS), matrix.dtype)
    padded[:, : rows.shape[1]] = rows
    return padded.view(np.uint64).reshape(-1, 4)


def _matrix(kernel: Kernel, words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The inverse of :func:`_words`."""
    rows = np.ascontiguousarray(words).view(dtype).reshape(kernel.outer_total, -1)
    along = kernel.m if kernel.column_major else kernel.n
    matrix = rows[:, :along]
    return matrix.T if kernel.column_major else matrix


def _chunk_of_element(kernel: Kernel) -> np.ndarray:
    """Which chunk each element of the output belongs to: (m, n)."""
    row, column = kernel.tiles
    chunk = np.empty((kernel.grid_m, kernel.grid_n), np.int64)
    chunk[row, column] = np.repeat(np.arange(kernel.gpus), np.diff(kernel.chunk_start))
    tiles = np.repeat(np.repeat(chunk, kernel.tile_m, axis=0), kernel.tile_n, axis=1)
    return tiles[: kernel.m, : kernel.n]


def reference(products: np.ndarray, nan: int) -> np.ndarray:
    """The ring's sum as each GPU in turn would have it for its own chunk: (gpus, m, n).

    Chunk *x* starts at GPU *x − 1* and goes down the ring to GPU *x*; every step rounds. NaN is the
    reduce unit's.
    """
    gpus = len(products)
    sums = np.empty_like(products)
    with np.errstate(over="ignore", invalid="ignore"):
        for x in range(gpus):
            total = products[x - 1]
            for hop in range(2, gpus + 1):
                total = products[(x - hop) % gpus] + total
            sums[x] = total
    sums.view(np.uint16)[np.isnan(sums)] = nan
    return sums


def _maps(machine: Machine, dtype: str) -> list[Writes]:
    """The program of every GPU: the output mapped for the reduce-scatter."""
    return [
        map_writes(machine.kernel, machine.system, g, context=CONTEXT_GEMM, op="sum", dtype=dtype)
        for g in range(machine.gpus)
    ]


def _reduce(
    machine: Machine, options: CheckOptions, progress: Callable[[str, float], None]
) -> tuple[str, ...]:
    """Let GEMM and reduce-scatter run; returns what went wrong."""
    finished = machine.state.gpu["finished"]
    total = machine.kernel.workgroups * machine.gpus
    try:
        machine.launch(_maps(machine, options.dtype), skew_cycles=options.skew)
        machine.run(UNTIL_REDUCED, lambda _: progress("Checking", finished.sum() / total))
        machine.idle(_SETTLING_CYCLES)
    except SimulationError as error:
        return (str(error),)
    return ()


def _compare(
    kernel: Kernel, expected: np.ndarray, found: list[np.ndarray], corner: tuple[int, int]
) -> tuple[int, tuple[Mismatch, ...]]:
    """How many bit patterns differ in the chunk that each GPU owns, and the first of them."""
    chunk = _chunk_of_element(kernel)
    mismatches = 0
    first: list[Mismatch] = []
    for g in range(kernel.gpus):
        wanted, got = expected[g].view(np.uint16), found[g].view(np.uint16)
        wrong = (wanted != got) & (chunk == g)
        mismatches += int(wrong.sum())
        first += [
            Mismatch(
                gpu=g,
                row=corner[0] + int(row),
                column=corner[1] + int(column),
                expected=int(wanted[row, column]),
                found=int(got[row, column]),
            )
            for row, column in np.argwhere(wrong)[: _SHOWN - len(first)]
        ]
    return mismatches, tuple(first)


def check(options: CheckOptions, progress: Callable[[str, float], None]) -> CheckResult:
    """Run the GEMM on every GPU and channel, all values through the hardware, and compare.

    An output whose chunks exceed the tracker's window is computed slice by slice.

    Raises
    ------
    InputError
        If the matrix is too small for the ring, or not even a macro-tile for each GPU fits into
        the tracker.
    """
    dtype, _ = _DTYPES[options.dtype]
    system = _system(options.channels, options.granularity)
    try:
        slices = launches(system, options.m, options.n, options.k, options.gpus)
    except InputError:
        raise
    except ValueError as error:
        raise InputError("m, n, gpus", str(error)) from error
    products = _products(options, dtype)
    results = []
    row = column = 0
    for kernel in slices:
        part = products[:, row : row + kernel.m, column : column + kernel.n]
        results.append(_check_slice(system, kernel, part, options, progress, (row, column)))
        if kernel.column_major:
            column += kernel.n
        else:
            row += kernel.m
    mismatches = sum(one.mismatches for one in results)
    errors = tuple(error for one in results for error in one.errors)
    return CheckResult(
        passed=not mismatches and not errors,
        elements=options.m * options.n,
        mismatches=mismatches,
        cycles=sum(one.cycles for one in results),
        wall_s=sum(one.wall_s for one in results),
        launches=len(slices),
        first_mismatches=tuple(m for one in results for m in one.first_mismatches)[:_SHOWN],
        errors=errors,
    )


def _check_slice(
    system: System,
    kernel: Kernel,
    products: np.ndarray,
    options: CheckOptions,
    progress: Callable[[str, float], None],
    corner: tuple[int, int],
) -> CheckResult:
    """A launch on a part of the output that begins at row and column ``corner``."""
    dtype, nan = _DTYPES[options.dtype]
    with Machine(
        system,
        kernel,
        engine=options.engine,
        channels=options.channels,
        mirror=False,
        partial=np.stack([_words(kernel, one) for one in products]),
        link_stall=options.back_pressure / 100,
        seed=options.seed,
        progress=progress,
    ) as machine:
        begin = time.perf_counter()
        errors = _reduce(machine, options, progress)
        wall_s = time.perf_counter() - begin
        found = [
            np.ascontiguousarray(_matrix(kernel, words, dtype)) for words in machine.state.stored
        ]
        cycles = machine.now
    mismatches, first = _compare(kernel, reference(products, nan), found, corner)
    return CheckResult(
        passed=not mismatches and not errors,
        elements=kernel.m * kernel.n,
        mismatches=mismatches,
        cycles=cycles,
        wall_s=wall_s,
        first_mismatches=first,
        errors=errors,
    )
