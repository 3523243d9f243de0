"""Guide of an export: contents of the folder, trial run, and integration."""

from collections.abc import Sequence
from pathlib import Path

from rtl.parameters import T3Parameters

from .assertions import MACRO
from .reset_style import ResetStyle

__all__ = ["guide"]

_WHEEL = "-MAKEFLAGS CFG_CXXFLAGS_PCH_I=-include -MAKEFLAGS PYTHON3=python3"
_GUIDE = Path(__file__).parent / "texts" / "guide.md"
_RESETS: dict[ResetStyle, str] = {
    "synchronous": "`rst` is synchronous and active high",
    "asynchronous": "`rst` is asynchronous, active high, and falls with a clock",
    "none": "there is no reset: registers have initial values",
}


def guide(
    name: str,
    p: T3Parameters,
    reset: ResetStyle,
    *,
    version: str,
    command: str,
    cells: Sequence[str],
) -> str:
    """Make the guide in Markdown.

    Parameters
    ----------
    name : str
        Name of the top.
    version, command : str
        Version of the project, and command that runs the bench.
    cells : sequence of str
        Files of the cells.
    """

    def several(count: int, what: str) -> str:
        return f"{count} {what}" if count == 1 else f"{count} {what}s"

    return _GUIDE.read_text(encoding="utf-8").format(
        name=name,
        channels=several(p.channels, "memory channel"),
        contexts=several(p.contexts, "context"),
        data="with data" if p.with_data else "without data (addresses and tags only)",
        version=version,
        cells=", ".join(f"`{file}`" for file in cells),
        command=command,
        wheel=_WHEEL,
        macro=MACRO,
        reset=_RESETS[reset],
    )
