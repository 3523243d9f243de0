"""``t3 fpga``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.output import OutputFolder, write_json
from sysmodel.lib.progress import shown_progress

from .options import Out, option
from .output import writing

__all__ = ["fpga"]

_JSON, _PAGE = "fpga.json", "fpga.md"


def fpga(
    out: Out = Path("build/fpga"),
    design: Annotated[
        list[str] | None,
        option(
            "without_data or with_data; may be repeated. The second, with 256 data bits, takes "
            "twice as long.",
            "NAME",
            show_default="without_data",
        ),
    ] = None,
) -> None:
    """Place and route one channel with a small tracker in a Lattice ECP5.

    With Yosys and nextpnr, which come with the extra `fpga`; writes fpga.json and fpga.md.
    """
    # They bring Amaranth, for which other commands shall not wait.
    from t3.silicon.fpga.designs import check_names, fit
    from t3.silicon.fpga.flow import check_installed
    from t3.silicon.fpga.report import Fitted, as_dict, as_markdown

    names = list(dict.fromkeys(design or ["without_data"]))
    check_names(names)
    with OutputFolder(out, (_JSON, _PAGE)) as folder:
        check_installed()
        fitted: list[Fitted] = []
        with shown_progress() as progress:
            for name in names:
                progress(f"place and route {name}", len(fitted) / len(names))
                fitted.append(fit(name))
        page = as_markdown(fitted)
        with writing(out):
            (folder.staging / _PAGE).write_text(page, encoding="utf-8")
            write_json(folder.staging / _JSON, as_dict(fitted))
            folder.publish()
    typer.echo(page)
