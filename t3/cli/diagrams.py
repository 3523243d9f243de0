"""Command ``t3 diagrams``."""

from pathlib import Path

import typer

from sysmodel.lib.output import OutputFolder
from t3.silicon.diagrams import diagrams as known
from t3.silicon.waveforms import record, svg

from .options import Out

__all__ = ["diagrams"]


def diagrams(out: Out = Path("build/diagrams")) -> None:
    """Draw timing diagrams of the blocks' interfaces as SVG, from simulations of the RTL."""
    files = {f"{diagram.name}.svg": diagram for diagram in known()}
    with OutputFolder(out, tuple(files)) as folder:
        folder.write({name: svg(record(diagram)) for name, diagram in files.items()})
    typer.echo("\n".join(str(out / name) for name in files))
