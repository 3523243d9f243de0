"""Check with real values: a GEMM through the hardware against a reduction in the same order."""

import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from sysmodel.config.system import System, load_system, system_on
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.lib.progress import Report
from sysmodel.machine.tiling import apart, launches
from sysmodel.network.expansion import expand

from .check_options import CheckOptions, CheckResult, Problem
from .data_launch import DTYPES, SHOWN, DataLaunch, Work

__all__ = ["check", "launches_of"]

_COMPUTE_UNITS = 4


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


def _products(problem: Problem, gpus: int, seed: int | list[int]) -> np.ndarray:
    """Each GPU's product of random operands, accumulated in fp32: (gpus, m, n)."""
    random = np.random.default_rng(seed)
    dtype, _ = DTYPES[problem.dtype]
    products = np.empty((gpus, problem.m, problem.n), dtype)
    for g in range(gpus):
        a = random.standard_normal((problem.m, problem.k), np.float32).astype(dtype)
        b = random.standard_normal((problem.k, problem.n), np.float32).astype(dtype)
        products[g] = (a.astype(np.float32) @ b.astype(np.float32)).astype(dtype)
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
    products = _products(problem, options.gpus, options.seed)
    row = column = 0
    for kernel in slices:
        tiling = kernel.tiling
        part = products[:, row : row + tiling.m, column : column + tiling.n]
        yield (Work(kernel, problem.dtype, part, (row, column)),)
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
        Work(kernel, problem.dtype, _products(problem, options.gpus, [options.seed, context]))
        for context, (kernel, problem) in enumerate(
            zip(apart(kernels), options.problems, strict=True)
        )
    )


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
            launch.finish(lambda done: progress("Checking, GEMM and RS", done))
        except SimulationError as error:
            errors = (str(error),)
        wall_s = time.perf_counter() - begin
        compared = [
            launch.compare(context, within_bound=not options.tracked.has_fixed_sums)
            for context in range(len(works))
        ]
        cycles = launch.machine.now
    mismatches = sum(count for count, _ in compared)
    return CheckResult(
        passed=not mismatches and not errors,
        elements=sum(work.kernel.tiling.m * work.kernel.tiling.n for work in works),
        mismatches=mismatches,
        cycles=cycles,
        wall_s=wall_s,
        first_mismatches=tuple(one for _, first in compared for one in first),
        errors=errors,
    )
