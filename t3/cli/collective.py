"""``t3 collective``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.collectives.check import check as check_schedule
from sysmodel.collectives.plans import is_plan, read_plan
from sysmodel.collectives.registry import algorithm, algorithms
from sysmodel.collectives.schedule import OPERATIONS, Expanded, Operation, expanded
from sysmodel.lib.errors import InputError
from sysmodel.lib.output import writing

from .completion import collectives
from .options import choice, integer_option, option

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
_RANKS = 8


@app.callback()
def collective() -> None:
    """List the algorithms of collectives, show the schedule of one, or check a schedule."""


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
    (schedule,) = _schedules(source, operation, ranks, ranks_per_node, first=True)
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
    for schedule in _schedules(source, operation, ranks, ranks_per_node, first=False):
        check_schedule(schedule, source)
        typer.echo(f"{schedule.name}: {schedule.operation}, {schedule.ranks} ranks: sound")


def _schedules(
    source: str,
    operation: Operation | None,
    ranks: int | None,
    ranks_per_node: int | None,
    *,
    first: bool,
) -> list[Expanded]:
    """Schedules of an algorithm, or the one of a file."""
    if is_plan(source):
        given = {"operation": operation, "ranks": ranks, "ranks_per_node": ranks_per_node}
        for field, value in given.items():
            if value is not None:
                problem = f"{value!r} is not allowed with a file, which has its own; allowed: none"
                raise InputError(field, problem)
        return [read_plan(Path(source))]
    one = algorithm(source)
    wanted = (operation,) if operation else one.operations[: 1 if first else None]
    return [expanded(one.schedule(each, ranks or _RANKS, ranks_per_node)) for each in wanted]


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
