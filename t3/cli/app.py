"""The commands of ``t3``, as one application."""

from collections.abc import Callable
from typing import Annotated

import typer

from .area import area
from .check import check
from .compare import compare
from .config import config
from .coverage import coverage
from .diagrams import diagrams
from .dram import dram
from .exhaust import exhaust
from .export import export
from .faults import faults
from .fpga import fpga
from .machines import machines
from .model import model
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

__all__ = ["COMMANDS", "GROUPS", "app"]

GROUPS: dict[str, tuple[Callable[..., None] | typer.Typer, ...]] = {
    "Use it": (run, model, sweep, compare, check, dram, models, presets, config),
    "Study it": (reproduce, machines, validate),
    "The hardware": (export, registers, area, timing, route, fpga, diagrams),
    "Its evidence": (prove, exhaust, mutate, coverage, faults),
}
"""Commands as the help lists them. A command is named as its function; ``config`` has some."""

COMMANDS = tuple(c for group in GROUPS.values() for c in group if not isinstance(c, typer.Typer))

app = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]})


def _print_version(asked: bool) -> None:
    if asked:
        from t3 import __version__  # looked up among what is installed

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


for _group, _commands in GROUPS.items():
    for _command in _commands:
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, rich_help_panel=_group)
        else:
            app.command(rich_help_panel=_group)(_command)
