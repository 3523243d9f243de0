"""The commands of ``t3``, as one application."""

from typing import Annotated

import typer

from t3 import __version__

from .area import area
from .check import check
from .coverage import coverage
from .diagrams import diagrams
from .dram import dram
from .exhaust import exhaust
from .export import export
from .faults import faults
from .fpga import fpga
from .machines import machines
from .models import models
from .mutate import mutate
from .presets import presets
from .prove import prove
from .registers import registers
from .reproduce import reproduce
from .route import route
from .run import run
from .sweep import sweep
from .timing import timing
from .validate import validate

__all__ = ["COMMANDS", "app"]

COMMANDS = (
    *(run, check, sweep, dram, reproduce, machines, validate),
    *(export, registers, area, timing, route, fpga, diagrams),
    *(prove, exhaust, mutate, coverage, faults),
    *(models, presets),
)
"""In the order in which the help lists them. A command is named as its function."""

app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"t3 {__version__}")
        raise typer.Exit


@app.callback()
def _t3(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Transparent tracking and triggering (T3): what a Transformer gains when the GEMM before an
    all-reduce hides it, simulated cycle by cycle, with the RTL of the hardware in the loop."""


for _command in COMMANDS:
    app.command()(_command)
