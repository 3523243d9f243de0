"""``t3 export``."""

import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from rtl.export.reset_style import RESET_STYLES, ResetStyle
from rtl.parameters import T3Parameters
from t3.library.hardware import export as write

from .options import Out, SystemOption, choice, option

__all__ = ["export"]


def _described() -> dict[str, str]:
    """What the documentation of the parameters says about each."""
    section = (inspect.getdoc(T3Parameters) or "").partition("Parameters\n----------\n")[2]
    texts = {}
    for names, text in re.findall(r"^(\S.*) : \w+\n((?: +\S.*\n?)+)", section, re.MULTILINE):
        for name in names.split(", "):
            texts[name] = " ".join(text.replace("`", "").split())
    return texts


def _options() -> list[inspect.Parameter]:
    """An option for every parameter of the hardware."""
    texts = _described()
    options = []
    for field in fields(T3Parameters):
        kind = type(field.default)
        text = typer.Option(
            help=texts[field.name],
            metavar=None if kind is bool else "N",
            rich_help_panel="Parameters of the hardware, instead of the system's",
        )
        options.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[kind | None, text],
            )
        )
    return options


def export(
    out: Out = Path("build/verilog"),
    system: SystemOption = "asplos24",
    name: Annotated[
        str, option("Name of the top, with which all modules and files begin.", "NAME")
    ] = "t3",
    with_links: Annotated[
        bool, option("The top has its link endpoints inside, for the system's links.")
    ] = False,
    reset: Annotated[ResetStyle, choice("Reset of the registers.", RESET_STYLES)] = "synchronous",
    **parameters: Any,
) -> None:
    """Write Verilog of the hardware of one GPU of a system: all channels, two contexts, data.

    The top and each block, self-contained; headers with the registers and the payloads' fields; a
    FuseSoC core; manifest.json with ports, parameters and checksums. The same bytes every time.
    """
    given = {key: value for key, value in parameters.items() if value is not None}
    files = write(out, system=system, name=name, with_links=with_links, reset=reset, **given)
    typer.echo(f"{len(files)} files in {out}: {', '.join(file.name for file in files)}")


_signature = inspect.signature(export)
export.__signature__ = _signature.replace(  # type: ignore[attr-defined]  # read by inspect.signature
    parameters=[
        *(p for p in _signature.parameters.values() if p.kind is not p.VAR_KEYWORD),
        *_options(),
    ]
)
