"""``t3 collective``."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sysmodel.collectives.check import check as check_schedule
from sysmodel.collectives.plans import is_plan
from sysmodel.collectives.registry import algorithm, algorithms
from sysmodel.collectives.schedule import OPERATIONS, Expanded, Operation
from sysmodel.collectives.sources import schedule_of
from sysmodel.lib.errors import InputError, short
from sysmodel.lib.output import json_text, writing

from .completion import collectives
from .options import SystemOption, TopologyOption, choice, integer_option, option

__all__ = ["app"]

app = typer.Typer(name="collective", add_completion=False)

_Source = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="An algorithm, or an MSCCL file (.xml) or MSCCL++ plan (.json).",
        autocompletion=collectives,
    ),
]
_Operation = Annotated[
    Operation | None,
    choice("Operation.", OPERATIONS, show_default="the algorithm's first one; check: all of them"),
]
_Ranks = Annotated[int | None, integer_option("Number of ranks.", least=2, show_default="8")]
_RanksPerNode = Annotated[
    int | None,
    integer_option(
        "Ranks of a node, for algorithms with two levels.",
        least=2,
        show_default="the most up to 8 that give equal nodes",
    ),
]
_SIZE = re.compile(r"(\d+(?:\.\d+)?) *(B|[KMG]iB|[KMG]B)?", re.IGNORECASE)
_UNITS = {
    "b": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
}


@app.callback()
def collective() -> None:
    """List the algorithms of collectives; show, check or simulate a schedule."""


@app.command("list")
def list_algorithms() -> None:
    """List the algorithms and their operations."""
    from t3.report.collective import algorithm_table
    from t3.report.terminal import shown_table, terminal

    table = algorithm_table(algorithms().values())
    terminal().print(shown_table("Algorithms of collectives", table))


@app.command()
def show(
    source: _Source,
    operation: _Operation = None,
    ranks: _Ranks = None,
    ranks_per_node: _RanksPerNode = None,
    rank: Annotated[int, integer_option("Rank whose flows are shown.", least=0)] = 0,
    tiles: Annotated[
        int | None,
        integer_option(
            "Tiles of a chunk: prints the smallest credit window of each stage.",
            least=1,
            show_default="no window",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        option("File for a picture of all transfers.", "FILE.svg", show_default="no picture"),
    ] = None,
) -> None:
    """Show the schedule of a rank: its flows of chunks in order, its costs, and its windows."""
    from t3.report.collective import cost_table, draw_transfers, flow_table
    from t3.report.terminal import shown_table, terminal

    if picture is not None and picture.suffix != ".svg":
        problem = f"{str(picture)!r} is not allowed; allowed: a name that ends in .svg"
        raise InputError("picture", problem)
    schedule = schedule_of(source, operation, ranks, ranks_per_node)
    check_schedule(schedule, source)
    if rank >= schedule.ranks:
        raise InputError("rank", f"{rank} is not allowed; allowed: 0 to {schedule.ranks - 1}")
    if picture is not None:
        with writing(picture, "picture"):
            draw_transfers(schedule, picture)
    title = f"{schedule.name}: {schedule.operation}, {schedule.ranks} ranks"
    console = terminal()
    console.print(shown_table(f"{title}, flows of rank {rank}", flow_table(schedule, rank)))
    console.print(shown_table("Costs of the rank", cost_table(schedule, rank)))
    if tiles is not None:
        _print_windows(schedule, tiles)
    if picture is not None:
        typer.echo(picture)


@app.command()
def check(
    source: _Source,
    operation: _Operation = None,
    ranks: _Ranks = None,
    ranks_per_node: _RanksPerNode = None,
) -> None:
    """Check that a schedule does its operation: no chunk is lost, counted twice or stuck.

    The exit code is 2 if the schedule does not; the message has the stage, the rank and the chunk.
    """
    operations: Sequence[Operation | None] = [operation]
    if operation is None and not is_plan(source):
        operations = algorithm(source).operations
    for one in operations:
        schedule = schedule_of(source, one, ranks, ranks_per_node)
        check_schedule(schedule, source)
        typer.echo(f"{schedule.name}: {schedule.operation}, {schedule.ranks} ranks: sound")


@app.command()
def run(
    source: _Source,
    operation: _Operation = None,
    ranks: _Ranks = None,
    ranks_per_node: _RanksPerNode = None,
    message: Annotated[
        str | None,
        typer.Option(
            "--bytes",
            metavar="SIZE",
            help="Size as nccl-tests count it, with a unit such as KiB or MB: a rank's whole "
            "input, or the result of an all-gather.",
            show_default="64MiB",
        ),
    ] = None,
    sizes: Annotated[
        Path | None,
        option(
            "Instead of --bytes, for an all-to-all-v: bytes that each rank sends to each, a row "
            "of comma-separated numbers for each sender.",
            "FILE.csv",
            show_default="equal chunks",
        ),
    ] = None,
    topology: TopologyOption = None,
    system: SystemOption = "asplos24",
    channels: Annotated[
        int | None,
        integer_option(
            "Simulated memory channels.", least=1, show_default="as many as take little time"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Simulate a collective on compute units: time, bandwidths, and share of the bound."""
    from t3.library.collectives import collective as simulated
    from t3.report.collective import as_dict, result_table
    from t3.report.terminal import shown_table, terminal

    result = simulated(
        source,
        operation,
        message_bytes=None if message is None else _bytes(message),
        sizes=sizes,
        ranks=ranks,
        ranks_per_node=ranks_per_node,
        topology=topology,
        system=system,
        channels=channels,
    )
    if as_json:
        typer.echo(json_text(as_dict(result)))
        return
    title = f"{result.name}: {result.operation}, {result.gpus} GPUs on {result.topology}"
    terminal().print(shown_table(title, result_table(result)))


def _bytes(size: str) -> int:
    """Bytes of a size with a unit.

    Raises
    ------
    InputError
        The size is no number with a known unit.
    """
    found = _SIZE.fullmatch(size.strip())
    if not found:
        allowed = "a number of bytes, or with a unit of KiB, MiB, GiB, KB, MB or GB"
        raise InputError("bytes", f"{short(size)} is not allowed; allowed: {allowed}")
    return round(float(found[1]) * _UNITS[(found[2] or "B").lower()])


def _print_windows(schedule: Expanded, tiles: int) -> None:
    """Print the smallest credit window of each stage."""
    from sysmodel.collectives.slots import contributions
    from sysmodel.collectives.window import smallest_window

    for stage in range(len(schedule.flows)):
        given = contributions(schedule, stage, tiles=tiles)
        typer.echo(
            f"stage {stage}: smallest credit window {smallest_window(given)} of "
            f"{max(given.slots())} tile slots"
        )
