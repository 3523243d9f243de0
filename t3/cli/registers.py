"""``t3 registers``."""

from pathlib import Path

import typer

from sysmodel.lib.output import OutputFolder

from .options import Out

__all__ = ["registers"]


def registers(out: Out = Path("build/registers")) -> None:
    """Write the register map for drivers, benches and readers, from t3.rdl.

    C headers, a page as Markdown and as HTML, IP-XACT and a UVM register model, by PeakRDL.
    """
    # It brings Amaranth, for which other commands shall not wait.
    from driver.c import c_driver
    from rtl.export.register_documents import register_documents

    files = register_documents() | c_driver()
    with OutputFolder(out, tuple(name for name in files if "/" not in name)) as folder:
        published = folder.write(files)
    typer.echo("\n".join(map(str, published)))
