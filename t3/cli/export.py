"""``t3 export``."""

import inspect
import re
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from rtl.export.reset_style import RESET_STYLES, ResetStyle
from rtl.parameters import T3Parameters
from sysmodel.lib.errors import InputError
from sysmodel.lib.output import OutputFolder
from sysmodel.lib.progress import shown_progress

from .options import Out, choice, option

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
        text = typer.Option(help=texts[field.name], rich_help_panel="Parameters of the hardware")
        options.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=Annotated[type(field.default), text],
            )
        )
    return options


def export(
    out: Out = Path("build/verilog"),
    name: Annotated[
        str, option("Name of the top, with which all modules and files begin.", "NAME")
    ] = "t3",
    with_links: Annotated[
        bool,
        option(
            "The top has its link endpoints inside, for links as asplos24's: no ring needs more."
        ),
    ] = False,
    reset: Annotated[ResetStyle, choice("Reset of the registers.", RESET_STYLES)] = "synchronous",
    **parameters: Any,
) -> None:
    """Write Verilog of the hardware with any parameters.

    The top and each block, self-contained; headers with the registers and the payloads' fields; a
    FuseSoC core; manifest.json with ports, parameters and checksums. The same bytes every time.
    """
    # They bring Amaranth, for which other commands shall not wait.
    from amaranth.hdl import UnusedElaboratable

    from rtl.export.files import export_files
    from sysmodel.config.system import load_system
    from sysmodel.engine.hardware import link_parameters

    # What no register can hold is found while a component is made, which then stays unused.
    warnings.simplefilter("ignore", UnusedElaboratable)
    with OutputFolder(out, (f"{name}.v", "manifest.json")) as folder:
        try:
            with shown_progress() as progress:
                p = T3Parameters(**parameters)
                link = link_parameters(load_system(), p) if with_links else None
                files = export_files(p, name, progress, link=link, reset=reset)
        except ValueError as error:
            raise _input_error(error) from error
        published = folder.write(files)
    typer.echo(f"{len(published)} files in {out}: {', '.join(file.name for file in published)}")


def _input_error(error: ValueError) -> InputError:
    """What the hardware has to say about a parameter, with the option's name."""
    rule = re.fullmatch(r"(\w+) (must .*)", str(error), re.DOTALL)
    if rule is None:
        return InputError("parameters", str(error))
    return InputError(rule[1].lower().replace("_", "-"), rule[2])


_signature = inspect.signature(export)
export.__signature__ = _signature.replace(  # type: ignore[attr-defined]  # read by inspect.signature
    parameters=[
        *(p for p in _signature.parameters.values() if p.kind is not p.VAR_KEYWORD),
        *_options(),
    ]
)
