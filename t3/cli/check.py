"""Command ``t3 check``."""

from typing import Annotated

import typer

from sysmodel.collectives.schedule import OPERATIONS, Operation
from sysmodel.config.granularity import GRANULARITIES, GranularityName
from sysmodel.config.workload import DTYPES, DtypeName
from sysmodel.runs.check_options import CheckOptions
from t3.library.checking import check as compare

from .completion import collectives, topologies
from .options import DTYPE_HELP, Engine, choice, integer_option, option

__all__ = ["check"]


_Collective = Annotated[
    str, option("Algorithm: ring, direct, send.", "NAME", autocompletion=collectives)
]
_Operation = Annotated[
    Operation | None, choice("Operation.", OPERATIONS, show_default="the algorithm's first one")
]
_Accumulate = Annotated[
    bool, typer.Option("--accumulate", help="Add the sums to what the owners' memory holds.")
]
_Uneven = Annotated[
    bool,
    typer.Option(
        "--uneven", help="All-to-all with random numbers of atoms from GPU to GPU, also none."
    ),
]
_FreeOrder = Annotated[
    bool,
    typer.Option("--free-order", help="Add contributions as they arrive; compare within a bound."),
]
_SplitK = Annotated[
    int, integer_option("Workgroups that share the depth of a tile, and add to it in memory.")
]
_Depth = Annotated[
    int, integer_option("Depth of the GEMM: products summed in each element of the output.")
]
_Contexts = Annotated[
    int,
    integer_option("Contexts, 1 or 2; the second has N x M at the same time in the other format."),
]
_Topology = Annotated[
    str,
    option(
        "Links between the GPUs: a topology, see t3 topology list, or a TOML file.",
        "NAME|FILE.toml",
        autocompletion=topologies,
    ),
]


def check(
    collective: _Collective = CheckOptions.collective,
    operation: _Operation = CheckOptions.operation,
    accumulate: _Accumulate = CheckOptions.accumulate,
    uneven: _Uneven = CheckOptions.uneven,
    split_k: _SplitK = CheckOptions.split_k,
    free_order: _FreeOrder = CheckOptions.free_order,
    gpus: Annotated[int, integer_option("GPUs, 2 to 8.")] = CheckOptions.gpus,
    m: Annotated[int, integer_option("Rows of the output.")] = CheckOptions.m,
    n: Annotated[int, integer_option("Columns of the output.")] = CheckOptions.n,
    k: _Depth = CheckOptions.k,
    dtype: Annotated[DtypeName, choice(DTYPE_HELP, DTYPES)] = CheckOptions.dtype,
    contexts: _Contexts = CheckOptions.contexts,
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
    topology: _Topology = CheckOptions.topology,
    back_pressure: Annotated[
        int, integer_option("Percentage of cycles in which a link accepts no flit.", "PERCENT")
    ] = CheckOptions.back_pressure,
    seed: Annotated[
        int, integer_option("Seed for the operands and all other random choices.")
    ] = CheckOptions.seed,
) -> None:
    """Run real values through the hardware and compare every bit.

    Compares every element of the GEMM's output behind its collective, on every GPU and channel,
    with NumPy's, which adds in the order of the hardware. With two contexts, two GEMMs run at the
    same time, and both are compared. The exit code is 0 only if all elements agree.
    """
    options = CheckOptions(
        collective=collective,
        operation=operation,
        accumulate=accumulate,
        uneven=uneven,
        split_k=split_k,
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
