"""Options that several commands have, and how values are read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import typer

from sysmodel.lib.errors import InputError
from sysmodel.runs.result import ENGINES, EngineName

__all__ = [
    "ENGINE_HELP",
    "Engine",
    "Out",
    "Scheduler",
    "SystemOption",
    "Workers",
    "choice",
    "integer",
    "integer_option",
    "named",
    "option",
    "several",
]

_LONGEST = 20  # of a number that is read, and of a value that is shown


def option(help_text: str, metavar: str | None = None, **more: Any) -> Any:
    """An option with a placeholder for its value."""
    return typer.Option(help=help_text, metavar=metavar, **more)


def integer(text: str) -> int:
    """Read an integer.

    Raises
    ------
    BadParameter
        It is none.
    """
    try:
        return int(text) if len(text) < _LONGEST else int("too long")
    except ValueError:
        shown = text if len(text) < _LONGEST else text[:16] + "..."
        raise typer.BadParameter(f"{shown!r} is not allowed; allowed: an integer") from None


def integer_option(help_text: str, metavar: str = "N") -> Any:
    """An option for an integer, whose bounds the command checks."""
    return option(help_text, metavar, parser=lambda value: integer(str(value)))


def choice(help_text: str, allowed: Sequence[str], **more: Any) -> Any:
    """An option for one of a few words."""

    def parse(value: str) -> str:
        if value not in allowed:
            problem = f"{value[:_LONGEST]!r} is not allowed; allowed: {', '.join(allowed)}"
            raise typer.BadParameter(problem)
        return value

    return option(help_text, "|".join(allowed), parser=parse, **more)


def several(what: str) -> Any:
    """An option that may be repeated, to choose some of what has names."""
    return option(f"Only this {what}; may be repeated.", "NAME", show_default="all")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_N = TypeVar("_N", bound=_Named)


def named(field: str, names: Sequence[str] | None, among: Sequence[_N]) -> list[_N]:
    """Those of ``among`` that are named, or all; in the order of ``among``.

    Raises
    ------
    InputError
        It has no such name.
    """
    known = [one.name for one in among]
    for name in names or ():
        if name not in known:
            problem = f"{name[:40]!r} is not allowed; allowed: {', '.join(known)}"
            raise InputError(field, problem)
    return [one for one in among if not names or one.name in names]


ENGINE_HELP = "The T3 hardware: rtl (compiled Verilog) or golden (fast model)."
Engine = Annotated[EngineName, choice(ENGINE_HELP, ENGINES)]
SystemOption = Annotated[
    str, option("The system: a preset, see t3 presets, or a TOML file.", "NAME|FILE.toml")
]
Out = Annotated[Path, option("Folder for the files.", "DIR")]
Scheduler = Annotated[str | None, option("Simulate on a running Dask cluster.", "ADDRESS")]
Workers = Annotated[
    int | None,
    option("Simulations at a time on this machine.", "N", show_default="one for each core"),
]
