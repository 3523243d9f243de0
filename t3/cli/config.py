"""Command ``t3 config``."""

from typing import Annotated

import typer

from sysmodel.config.complete import complete_toml, differences
from sysmodel.config.notices import notices
from sysmodel.config.system import load_system
from t3.report.progress import shown_progress
from t3.report.system import summary
from t3.report.terminal import terminal, terminal_table

from .completion import presets

__all__ = ["app"]

app = typer.Typer(name="config", add_completion=False)

_System = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE.toml", help="A preset, or a TOML file.", autocompletion=presets
    ),
]


@app.callback()
def config() -> None:
    """Print the values of a system with their sources, check a system, or compare two systems."""


@app.command()
def show(system: _System) -> None:
    """Print a system as one file: every value, the file that gives it, and its source.

    The output is a system file without a base: save it, change it, and give it to --system.
    """
    typer.echo(complete_toml(system, summary(load_system(system))), nl=False)


@app.command()
def validate(system: _System) -> None:
    """Check that a system can be simulated, and report values that look unphysical.

    Builds the machine, and simulates a small GEMM with it. The exit code is 2 if the system cannot
    be simulated, and 1 if a value looks unphysical.
    """
    from sysmodel.runs.soundness import check_machine  # imports Numba

    loaded = load_system(system)
    with shown_progress() as progress:
        check_machine(loaded, progress)
    for line in summary(loaded):
        typer.echo(line)
    contradictions = notices(loaded)
    for notice in contradictions:
        typer.echo(notice)
    if contradictions:
        raise typer.Exit(1)
    typer.echo("sound")


@app.command()
def diff(one: _System, other: _System) -> None:
    """List the values in which two systems differ."""
    table = terminal_table(f"{one} and {other}", "key", one, other, text_columns=3)
    rows = differences(one, other)
    for row in rows:
        table.add_row(*row)
    terminal().print(table if rows else f"{one} and {other} have equal values")
