"""Command ``t3 check``."""

from typing import Annotated

import typer

from sysmodel.config.granularity import GRANULARITIES, GranularityName
from sysmodel.config.workload import DTYPES, DtypeName
from sysmodel.runs.check_options import CheckOptions
from t3.library.checking import check as compare

from .completion import topologies
from .options import DTYPE_HELP, Engine, choice, integer_option, option

__all__ = ["check"]


def check(
    collective: Annotated[
        str,
        option("Reduce-scatter: ring, or direct, straight to the owners.", "NAME"),
    ] = CheckOptions.collective,
    free_order: Annotated[
        bool,
        typer.Option(
            "--free-order", help="Add contributions as they arrive; compare within a bound."
        ),
    ] = CheckOptions.free_order,
    gpus: Annotated[int, integer_option("GPUs, 2 to 8.")] = CheckOptions.gpus,
    m: Annotated[int, integer_option("Rows of the output.")] = CheckOptions.m,
    n: Annotated[int, integer_option("Columns of the output.")] = CheckOptions.n,
    k: Annotated[
        int, integer_option("Depth of the GEMM: products summed in each element of the output.")
    ] = CheckOptions.k,
    dtype: Annotated[DtypeName, choice(DTYPE_HELP, DTYPES)] = CheckOptions.dtype,
    contexts: Annotated[
        int,
        integer_option(
            "Contexts, 1 or 2; the second reduces N x M at the same time in the other format."
        ),
    ] = CheckOptions.contexts,
    granularity: Annotated[
        GranularityName, choice("Unit whose complete tile triggers its transfer.", GRANULARITIES)
    ] = CheckOptions.granularity,
    engine: Engine = CheckOptions.engine,
    channels: Annotated[
        int, integer_option("Memory channels of each GPU, a power of two.")
    ] = CheckOptions.channels,
    skew: Annotated[
        int,
        integer_option("Memory cycles between the starts of successive GPUs.", "CYCLES"),
    ] = CheckOptions.skew,
    topology: Annotated[
        str,
        option(
            "Links between the GPUs: a topology, see t3 topology list, or a TOML file.",
            "NAME|FILE.toml",
            autocompletion=topologies,
        ),
    ] = CheckOptions.topology,
    back_pressure: Annotated[
        int, integer_option("Percentage of cycles in which a link accepts no flit.", "PERCENT")
    ] = CheckOptions.back_pressure,
    seed: Annotated[
        int, integer_option("Seed for the operands and all other random choices.")
    ] = CheckOptions.seed,
) -> None:
    """Run real values through the hardware and compare every bit.

    Compares every element of the reduce-scattered GEMM, on every GPU and channel, with NumPy's
    reduction in the order of the hardware. With two contexts, two GEMMs run at the same time, and
    both are compared. The exit code is 0 only if all elements agree.
    """
    options = CheckOptions(
        collective=collective,
        free_order=free_order,
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
        topology=topology,
        back_pressure=back_pressure,
        seed=seed,
    )
    result = compare(**vars(options))
    from t3.report.check import print_check

    print_check(options, result)
    if not result.passed:
        raise typer.Exit(1)
