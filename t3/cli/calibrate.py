"""Command ``t3 calibrate``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from t3.library.calibrating import calibrate as fit

from .completion import presets
from .options import option

__all__ = ["calibrate"]


def calibrate(
    measured: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Measurements: output of nccl-tests or rccl-tests, or a table."
        ),
    ],
    base: Annotated[
        str,
        option(
            "System whose other values stay: a preset, or a TOML file.",
            "NAME|FILE.toml",
            autocompletion=presets,
        ),
    ],
    out: Annotated[
        Path | None, option("File of the fitted system.", "FILE.toml", show_default="printed")
    ] = None,
) -> None:
    """Fit a system to measurements: payload share and latency of the link, clock of the GEMM.

    Fits the parameters that the rows decide, by running the model, and names the others with the
    reason. A quarter of the sizes are held back. Prints the system's file, or writes it.
    """
    result = fit(measured, base, out)
    if out is None:
        sys.stdout.write(result.text)
        return
    for line in result.summary:
        typer.echo(line)
    typer.echo(out)
