"""Options of ``t3 area`` and ``t3 timing``: cell library and sizes of the hardware."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from rtl.parameters import T3Parameters
from sysmodel.lib.errors import InputError
from t3.silicon.blocks import REFERENCE
from t3.silicon.cells import Library
from t3.silicon.library import load_library
from t3.silicon.osu018 import osu018

from .options import integer_option, option

__all__ = [
    "Banks",
    "Channels",
    "Contexts",
    "Liberty",
    "Sets",
    "Ways",
    "chosen_library",
    "chosen_parameters",
]

Liberty = Annotated[
    list[Path] | None,
    option(
        "Cell library in Liberty format, .lib or .lib.gz; may be repeated.",
        "FILE",
        show_default="osu018, fetched with apt-get",
    ),
]


def _size(help_text: str) -> Any:
    return integer_option(help_text, show_default="as the reference hardware")


Channels = Annotated[int | None, _size("Memory channels of the GPU.")]
Banks = Annotated[int | None, _size("Tracker banks.")]
Sets = Annotated[int | None, _size("Tracker sets in all banks together.")]
Ways = Annotated[int | None, _size("Tracker ways.")]
Contexts = Annotated[int | None, _size("Contexts.")]


def chosen_parameters(**sizes: int | None) -> T3Parameters:
    """Parameters of the reference hardware with other sizes; None keeps the size of the reference.

    Raises
    ------
    InputError
        The hardware does not support a size.
    """
    given: dict[str, Any] = {field: size for field, size in sizes.items() if size is not None}
    try:
        return replace(REFERENCE, **given)
    except ValueError as error:
        field, _, problem = str(error).partition(" ")
        raise InputError(field, problem) from None


def chosen_library(liberty: list[Path] | None) -> tuple[list[Path], Library]:
    """Files of the cell library, and the library that they hold; osu018 by default."""
    files = list(liberty or [osu018()])
    return files, load_library(files)
