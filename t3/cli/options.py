"""Options that several commands share, and the parsing of their values."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sysmodel.lib.errors import InputError
from sysmodel.runs.engines import ENGINES, EngineName

from .completion import presets, programs, topologies, words

__all__ = [
    "DTYPE_HELP",
    "ENGINE_HELP",
    "Engine",
    "Out",
    "ProgramOption",
    "Scheduler",
    "SystemOption",
    "TopologyOption",
    "Workers",
    "choice",
    "integer",
    "integer_option",
    "named",
    "option",
    "several",
]

_LONGEST = 20  # characters of a number, and of a value in a message


def option(help_text: str, metavar: str | None = None, **more: Any) -> Any:
    """Make an option with a placeholder for its value."""
    return typer.Option(help=help_text, metavar=metavar, **more)


def integer(text: str, least: int | None = None) -> int:
    """Read an integer.

    Raises
    ------
    BadParameter
        The text is not an integer, or the integer is below ``least``.
    """
    try:
        value = int(text) if len(text) < _LONGEST else int("too long")
        if least is None or value >= least:
            return value
    except ValueError:
        pass
    shown = text if len(text) < _LONGEST else text[:16] + "..."
    allowed = "an integer" if least is None else f"{least} or more"
    raise typer.BadParameter(f"{shown!r} is not allowed; allowed: {allowed}")


def integer_option(
    help_text: str, metavar: str = "N", *, least: int | None = None, **more: Any
) -> Any:
    """Make an option for an integer. The command checks all bounds but ``least``."""
    return option(help_text, metavar, parser=lambda text: integer(str(text), least), **more)


def choice(help_text: str, allowed: Sequence[str], **more: Any) -> Any:
    """Make an option for one of a few words."""

    def parse(value: str) -> str:
        if value not in allowed:
            problem = f"{value[:_LONGEST]!r} is not allowed; allowed: {', '.join(allowed)}"
            raise typer.BadParameter(problem)
        return value

    return option(help_text, "|".join(allowed), parser=parse, autocompletion=words(allowed), **more)


def several(kind: str) -> Any:
    """Make an option that selects one item of a kind by name, and may be repeated."""
    return option(f"Only this {kind}; may be repeated.", "NAME", show_default="all")


def named(field: str, names: Sequence[str] | None, known: Iterable[str]) -> list[str]:
    """Select the known names that the user gave, or all of them, in the order of ``known``.

    Raises
    ------
    InputError
        The user gave a name that is not known.
    """
    known = list(known)
    for name in names or ():
        if name not in known:
            problem = f"{name[:40]!r} is not allowed; allowed: {', '.join(sorted(known))}"
            raise InputError(field, problem)
    return [name for name in known if not names or name in names]


ENGINE_HELP = "Model of the T3 hardware: rtl (compiled Verilog) or golden (fast model)."
Engine = Annotated[EngineName, choice(ENGINE_HELP, ENGINES)]
DTYPE_HELP = "Format of operands and output."
SystemOption = Annotated[
    str,
    option(
        "System: a preset, see t3 presets, or a TOML file.",
        "NAME|FILE.toml",
        autocompletion=presets,
    ),
]
ProgramOption = Annotated[
    str,
    option(
        "Program: GEMMs and collectives, see t3 program, or a TOML file.",
        "NAME|FILE.toml",
        autocompletion=programs,
    ),
]
TopologyOption = Annotated[
    str | None,
    option(
        "Links between the GPUs: a topology, see t3 topology list, or a TOML file.",
        "NAME|FILE.toml",
        show_default="the system's",
        autocompletion=topologies,
    ),
]
Out = Annotated[Path, option("Output folder.", "DIR")]
Scheduler = Annotated[
    str | None, option("Address of a running Dask cluster that simulates.", "ADDRESS")
]
Workers = Annotated[
    int | None,
    integer_option(
        "Number of simulations that run at a time on this machine.", show_default="one per core"
    ),
]
