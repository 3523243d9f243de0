"""Check with real values: a GEMM and its collective through the hardware, against NumPy."""

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from sysmodel.config.system import System, load_system, system_on
from sysmodel.gpu.geometry.split_k import split_kernel
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.lib.progress import Report
from sysmodel.machine.tiling import apart, launches
from sysmodel.network.expansion import expand

from .check_options import CheckOptions, CheckResult, Problem
from .data_launch import DTYPES, SHOWN, DataLaunch, Work

__all__ = ["check", "launches_of"]

_COMPUTE_UNITS = 4
_OF_MEMORY = 1  # sequence of random numbers that is not that of the products


def _system(options: CheckOptions) -> System:
    """GPU small enough for a check: a few CUs, and the option's memory channels with their share of
    the L2, of the link and of the tracker's banks.

    Raises
    ------
    InputError
        The topology is not known, or has no way from some GPU to one to which it sends.
    """
    channels, granularity = options.channels, options.granularity
    full = system_on(load_system(), options.topology)
    fabric = expand(full.topology, options.gpus, full.link)
    for gpu in range(options.gpus):
        for other in _receivers(options, gpu):
            fabric.routes(gpu, other)
    share = channels / full.dram.channels
    slices = full.l2.slices // full.dram.channels
    banks = max(1, full.t3.tracker_banks * channels // full.dram.channels)
    return full.model_copy(
        update={
            "name": f"{full.name}, {channels} channels",
            "gpu": full.gpu.model_copy(update={"compute_units": _COMPUTE_UNITS}),
            "dram": full.dram.model_copy(update={"channels": channels}),
            "t3": full.t3.model_copy(
                update={"granularity": granularity, "tracker_banks": banks},
            ),
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


def _receivers(options: CheckOptions, gpu: int) -> tuple[int, ...]:
    """GPUs to which a GPU sends."""
    return options.tracked.map([1] * options.gpus, gpu).receivers


def _products(problem: Problem, gpus: int, seed: int | list[int], splits: int = 1) -> np.ndarray:
    """Each GPU's product of random operands in each split of their depth, accumulated in fp32:
    (splits, gpus, m, n)."""
    random = np.random.default_rng(seed)
    dtype, _ = DTYPES[problem.dtype]
    products = np.empty((splits, gpus, problem.m, problem.n), dtype)
    parts = np.array_split(np.arange(problem.k), splits)
    for g in range(gpus):
        a = random.standard_normal((problem.m, problem.k), np.float32).astype(dtype)
        b = random.standard_normal((problem.k, problem.n), np.float32).astype(dtype)
        for split, part in enumerate(parts):
            product = a[:, part].astype(np.float32) @ b[part].astype(np.float32)
            products[split, g] = product.astype(dtype)
    return products


def check(options: CheckOptions, progress: Report) -> CheckResult:
    """Run the GEMMs on every GPU and channel, all values through the hardware, and compare.

    An output whose chunks exceed the tracker's window is computed slice by slice.

    Raises
    ------
    InputError
        The matrix is too small for the GPUs, or not even a macro-tile for each GPU fits into the
        tracker; or, with several contexts, an output does not fit in one launch.
    """
    launched, system = launches_of(options)
    results = [_check_launch(system, works, options, progress) for works in launched]
    mismatches = sum(one.mismatches for one in results)
    errors = tuple(error for one in results for error in one.errors)
    return CheckResult(
        passed=not mismatches and not errors,
        elements=sum(one.elements for one in results),
        mismatches=mismatches,
        cycles=sum(one.cycles for one in results),
        wall_s=sum(one.wall_s for one in results),
        launches=len(results),
        first_mismatches=tuple(m for one in results for m in one.first_mismatches)[:SHOWN],
        errors=errors,
    )


def launches_of(options: CheckOptions) -> tuple[Iterable[tuple[Work, ...]], System]:
    """Launches with the work of each context, and the GPU that runs them."""
    system = _system(options)
    launched = _in_slices if options.contexts == 1 else _together
    return launched(system, options), system


def _kernels(system: System, problem: Problem, options: CheckOptions) -> tuple[Kernel, ...]:
    """Kernels of the launches in which a context computes the problem."""
    shape = problem.m, problem.n, problem.k
    try:
        return launches(system, *shape, options.gpus, options.contexts)
    except InputError:
        raise
    except ValueError as error:
        raise InputError("m, n, gpus", str(error)) from error


def _in_slices(system: System, options: CheckOptions) -> Iterator[tuple[Work]]:
    """Launches of one context, each with a slice of the output."""
    (problem,) = options.problems
    slices = _kernels(system, problem, options)
    products = _products(problem, options.gpus, options.seed, options.split_k)
    row = column = 0
    for kernel in slices:
        tiling = kernel.tiling
        part = products[..., row : row + tiling.m, column : column + tiling.n]
        yield (_work(options, kernel, problem, part, (row, column)),)
        if kernel.layout.column_major:
            column += tiling.n
        else:
            row += tiling.m


def _together(system: System, options: CheckOptions) -> Iterator[tuple[Work, ...]]:
    """Yield the single launch in which all contexts run at the same time."""
    kernels: list[Kernel] = []
    for problem in options.problems:
        slices = _kernels(system, problem, options)
        if len(slices) > 1:
            raise InputError(
                "contexts",
                f"{options.contexts} is not allowed with {problem}, which takes {len(slices)} "
                "launches; allowed: 1, or outputs that one launch computes",
            )
        kernels += slices
    yield tuple(
        _work(options, kernel, problem, _products(problem, options.gpus, [options.seed, context]))
        for context, (kernel, problem) in enumerate(
            zip(apart(kernels), options.problems, strict=True)
        )
    )


def _work(
    options: CheckOptions,
    kernel: Kernel,
    problem: Problem,
    made: np.ndarray,
    corner: tuple[int, int] = (0, 0),
) -> Work:
    """Work of a context, whose splits make these products, with what the memory holds before, and
    what is stored of uneven parts."""
    products = _added(made)
    splits = None
    if options.split_k > 1:
        kernel, splits = split_kernel(kernel, options.split_k), made
    random = np.random.default_rng([options.seed, *corner, _OF_MEMORY])
    memory = None
    if options.accumulate:
        memory = (problem.k**0.5 * random.standard_normal(products.shape)).astype(products.dtype)
    stored = _uneven(kernel, random) if options.uneven else None
    return Work(kernel, problem.dtype, products, corner, memory, stored, splits)


def _added(made: np.ndarray) -> np.ndarray:
    """Add up the products of splits, one after the other: every addition rounds."""
    total: np.ndarray = made[0]
    for one in made[1:]:
        total = one + total
    return total


def _uneven(kernel: Kernel, random: np.random.Generator) -> np.ndarray:
    """Draw how many atoms each GPU stores of each chunk: none, all or some. Return those of its
    workgroups, the first ones of the chunk: (gpus, workgroups)."""
    sizes = kernel.walk.outer * kernel.walk.inner
    stored = np.zeros((kernel.gpus, kernel.workgroups), np.int64)
    for of_gpu in stored:
        for first, end in pairwise(kernel.chunks.start):
            tiles = sizes[first:end]
            before = np.cumsum(tiles) - tiles
            atoms = random.choice([0, tiles.sum(), random.integers(0, tiles.sum() + 1)])
            of_gpu[first:end] = np.clip(atoms - before, 0, tiles)
    return stored


def _check_launch(
    system: System,
    works: Sequence[Work],
    options: CheckOptions,
    progress: Report,
) -> CheckResult:
    """Run a launch of each context, all at the same time, and compare."""
    with DataLaunch(
        system,
        works,
        engine=options.engine,
        channels=options.channels,
        tracked=options.tracked,
        link_stall=options.back_pressure / 100,
        seed=options.seed,
        progress=progress,
    ) as launch:
        begin = time.perf_counter()
        errors: tuple[str, ...] = ()
        try:
            launch.begin(skew_cycles=options.skew)
            operation = options.tracked.schedule.operation
            launch.finish(lambda done: progress(f"Checking, GEMM and {operation}", done))
        except SimulationError as error:
            errors = (str(error),)
        wall_s = time.perf_counter() - begin
        compared = [
            launch.compare(context, within_bound=not options.tracked.has_fixed_sums)
            for context in range(len(works))
        ]
        elements = sum(map(launch.elements, range(len(works))))
        cycles = launch.machine.now
    mismatches = sum(count for count, _ in compared)
    return CheckResult(
        passed=not mismatches and not errors,
        elements=elements,
        mismatches=mismatches,
        cycles=cycles,
        wall_s=wall_s,
        first_mismatches=tuple(one for _, first in compared for one in first),
        errors=errors,
    )
