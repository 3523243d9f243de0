"""``t3 fpga``."""

from pathlib import Path

import typer

from sysmodel.lib.output import OutputFolder, write_json
from sysmodel.lib.progress import shown_progress

from .options import Out
from .output import writing

__all__ = ["fpga"]

_JSON, _PAGE = "fpga.json", "fpga.md"


def fpga(out: Out = Path("build/fpga")) -> None:
    """Place and route one channel with a small tracker in a Lattice ECP5.

    With Yosys and nextpnr, which come with the package; writes fpga.json and fpga.md.
    """
    # They bring Amaranth, for which other commands shall not wait.
    from t3.silicon.fpga.designs import DESIGNS, fit
    from t3.silicon.fpga.report import as_dict, as_markdown

    with OutputFolder(out, (_JSON, _PAGE)) as folder:
        fitted = []
        with shown_progress() as progress:
            for name in DESIGNS:
                fitted.append(fit(name))
                progress("place and route", len(fitted) / len(DESIGNS))
        page = as_markdown(fitted)
        with writing(out):
            (folder.staging / _PAGE).write_text(page, encoding="utf-8")
            write_json(folder.staging / _JSON, as_dict(fitted))
            folder.publish()
    typer.echo(page)
