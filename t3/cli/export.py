"""Command ``t3 export``."""

import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from rtl.export.reset_style import RESET_STYLES, ResetStyle
from rtl.parameters import T3Parameters
from t3.library.hardware import export as write

from .options import Out, SystemOption, choice, integer_option, option

__all__ = ["export"]


def _described() -> dict[str, str]:
    """Read the description of each parameter from the docstring of the parameters."""
    section = (inspect.getdoc(T3Parameters) or "").partition("Parameters\n----------\n")[2]
    texts = {}
    for names, text in re.findall(r"^(\S.*) : \w+\n((?: +\S.*\n?)+)", section, re.MULTILINE):
        for name in names.split(", "):
            texts[name] = " ".join(text.replace("`", "").split())
    return texts


def _options() -> list[inspect.Parameter]:
    """Make an option for every parameter of the hardware."""
    texts = _described()
    options = []
    for field in fields(T3Parameters):
        kind = type(field.default)
        make = option if kind is bool else integer_option
        text = make(
            texts[field.name],
            rich_help_panel="Parameters of the hardware (default: the system's)",
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
        str, option("Name of the top; the names of all modules and files begin with it.", "NAME")
    ] = "t3",
    with_links: Annotated[
        bool, option("Put the link endpoints into the top, for the system's links.")
    ] = False,
    ports: Annotated[
        int,
        integer_option(
            "Also write the links to fully connected GPUs, with this number of ports.", least=0
        ),
    ] = 0,
    reset: Annotated[
        ResetStyle, choice("Reset style of all registers.", RESET_STYLES)
    ] = "synchronous",
    **parameters: Any,
) -> None:
    """Write Verilog of the hardware of one GPU of a system: all channels, two contexts, data.

    Writes the top and each block as self-contained files, headers with the registers and the fields
    of the payloads, a FuseSoC core, and manifest.json with ports, parameters and checksums. The
    files are identical in every run.
    """
    given = {key: value for key, value in parameters.items() if value is not None}
    files = write(
        out, system=system, name=name, with_links=with_links, ports=ports, reset=reset, **given
    )
    typer.echo(f"{len(files)} files in {out}: {', '.join(file.name for file in files)}")


_signature = inspect.signature(export)
export.__signature__ = _signature.replace(  # type: ignore[attr-defined]  # read by inspect.signature
    parameters=[
        *(p for p in _signature.parameters.values() if p.kind is not p.VAR_KEYWORD),
        *_options(),
    ]
)
