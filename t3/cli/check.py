"""``t3 check``."""

from typing import Annotated, Literal

import typer

from sysmodel.config.granularity import GRANULARITIES, GranularityName
from sysmodel.config.workload import DTYPE_BYTES
from sysmodel.lib.progress import Report, shown_progress
from sysmodel.runs.check_options import CheckOptions, CheckResult
from sysmodel.runs.report import print_check

from .options import Engine, choice, integer_option

__all__ = ["check"]


def check(
    gpus: Annotated[int, integer_option("GPUs of the ring, 2 to 8.")] = CheckOptions.gpus,
    m: Annotated[int, integer_option("Rows of the output.")] = CheckOptions.m,
    n: Annotated[int, integer_option("Columns of the output.")] = CheckOptions.n,
    k: Annotated[
        int, integer_option("Products that each element of the output sums.")
    ] = CheckOptions.k,
    dtype: Annotated[
        Literal["fp16", "bf16"], choice("Format of operands and output.", tuple(DTYPE_BYTES))
    ] = CheckOptions.dtype,
    contexts: Annotated[
        int, integer_option("2: a second context sums N x M at the same time, in the other format.")
    ] = CheckOptions.contexts,
    granularity: Annotated[
        GranularityName, choice("Whose complete tile is sent on.", GRANULARITIES)
    ] = CheckOptions.granularity,
    engine: Engine = CheckOptions.engine,
    channels: Annotated[
        int, integer_option("Memory channels of each GPU, a power of two.")
    ] = CheckOptions.channels,
    skew: Annotated[
        int, integer_option("Memory cycles from the start of a GPU to that of the next.", "CYCLES")
    ] = CheckOptions.skew,
    back_pressure: Annotated[
        int, integer_option("Percent of cycles in which a link takes nothing.", "PERCENT")
    ] = CheckOptions.back_pressure,
    seed: Annotated[
        int, integer_option("Seed of the operands and of all that is random.")
    ] = CheckOptions.seed,
) -> None:
    """Run real values through the hardware and compare every bit.

    Compares every element of the reduce-scattered GEMM, on every GPU and channel, with NumPy's
    reduction in the order of the ring; with two contexts, of two GEMMs that run at the same time.
    The exit code is 0 only if all agree.
    """
    options = CheckOptions(
        gpus=gpus,
        m=m,
        n=n,
        k=k,
        dtype=dtype,
        contexts=contexts,
        granularity=granularity,
        engine=engine,
        channels=channels,
        skew=skew,
        back_pressure=back_pressure,
        seed=seed,
    )
    with shown_progress() as progress:
        result = _check(options, progress)
    print_check(options, result)
    if not result.passed:
        raise typer.Exit(1)


def _check(options: CheckOptions, progress: Report) -> CheckResult:
    # It brings Numba, for which other commands shall not wait.
    from sysmodel.runs.check import check as compare

    return compare(options, progress)
