"""``t3 program``."""

import sys
from typing import Annotated

import typer

from sysmodel.config.bundled import PROGRAMS

from .completion import programs

__all__ = ["app"]

app = typer.Typer(name="program", add_completion=False)


@app.callback()
def program() -> None:
    """List the programs of a run, print the file of one, or show its activities."""


@app.command("list")
def list_all() -> None:
    """List the bundled programs."""
    from t3.report.program import print_programs

    print_programs()


@app.command()
def file(
    name: Annotated[str, typer.Argument(help="A bundled program.", autocompletion=programs)],
) -> None:
    """Print the file of a bundled program."""
    sys.stdout.write(PROGRAMS.path(name, "name").read_text(encoding="utf-8"))


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.toml",
            help="A bundled program, or a TOML file.",
            autocompletion=programs,
        ),
    ],
) -> None:
    """Show the activities of a program, and the configurations that run it."""
    from sysmodel.runs.program.files import load_program
    from t3.report.program import print_program

    print_program(load_program(name, field="name"))
