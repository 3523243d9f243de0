"""Command ``t3 registers``."""

from pathlib import Path

import typer

from driver.c import c_driver
from rtl.export.register_documents import register_documents
from sysmodel.lib.output import OutputFolder

from .options import Out

__all__ = ["registers"]


def registers(out: Out = Path("build/registers")) -> None:
    """Write the register map for drivers, benches and readers, from t3.rdl.

    PeakRDL makes C headers, a page in Markdown and in HTML, IP-XACT and a UVM register model.
    """
    files = register_documents() | c_driver()
    with OutputFolder(out, tuple(name for name in files if "/" not in name)) as folder:
        published = folder.write(files)
    typer.echo("\n".join(map(str, published)))
