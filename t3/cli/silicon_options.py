"""Options of ``t3 area`` and ``t3 timing``: a cell library and the size of the hardware."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sysmodel.lib.errors import InputError

from .options import option

if TYPE_CHECKING:
    from rtl.parameters import T3Parameters
    from t3.silicon.cells import Library

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
        "Cell library, .lib or .lib.gz; may be repeated.",
        "FILE",
        show_default="osu018, fetched with apt-get",
    ),
]


def _size(help_text: str) -> Any:
    return option(help_text, "N", show_default="the reference's")


Channels = Annotated[int | None, _size("Memory channels of the GPU.")]
Banks = Annotated[int | None, _size("Banks of the tracker.")]
Sets = Annotated[int | None, _size("Sets of the tracker, over all banks.")]
Ways = Annotated[int | None, _size("Ways of the tracker.")]
Contexts = Annotated[int | None, _size("Contexts.")]


def chosen_parameters(**sizes: int | None) -> "T3Parameters":
    """The reference hardware at other sizes; None is the reference's.

    Raises
    ------
    InputError
        No hardware has such a size.
    """
    from t3.silicon.blocks import REFERENCE

    given: dict[str, Any] = {field: size for field, size in sizes.items() if size is not None}
    try:
        return replace(REFERENCE, **given)
    except ValueError as error:
        field, _, problem = str(error).partition(" ")
        raise InputError(field, problem) from None


def chosen_library(liberty: list[Path] | None) -> "tuple[list[Path], Library]":
    """The files of the cell library, and what is in them."""
    from t3.silicon.library import load_library
    from t3.silicon.osu018 import osu018

    files = list(liberty or [osu018()])
    return files, load_library(files)
