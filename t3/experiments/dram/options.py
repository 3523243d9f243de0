"""Options for serving a pattern or a trace with one memory channel."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field

from sysmodel.config.arguments import Checked
from sysmodel.config.dram_timing import Refresh
from sysmodel.config.schema import integer, one_of, text
from sysmodel.lib.errors import InputError

__all__ = ["PATTERNS", "REFRESH", "DramOptions", "PatternName"]

PatternName = Literal["read", "write", "update", "mix", "random-read", "random-write"]
PATTERNS: tuple[PatternName, ...] = get_args(PatternName)
REFRESH: tuple[Refresh, ...] = get_args(Refresh)

_RATIO = r"[1-9][0-9]{0,2}:[1-9][0-9]{0,2}"


@dataclass(frozen=True, kw_only=True)
class DramOptions(Checked):
    """Options for serving a pattern or a trace with one HBM channel.

    Parameters
    ----------
    pattern : str or None
        Access pattern: ``read``, ``write``, ``update``, ``mix``, ``random-read`` or
        ``random-write``.
    trace : path or None
        Trace instead of a pattern: a text file whose lines are ``R``, ``W`` or ``U`` and a byte
        address of the channel.
    ratio : str
        Ratio of reads to writes in a mix, as ``2:1``.
    offset : int
        Bytes from the bank of a mix's reads to the first of its writes.
    stride : int
        Atoms from one access to the next, in ``read``, ``write`` and ``update``.
    requests : int
        Number of requests of a pattern.
    offered : int
        Most requests accepted in one clock of the memory.
    queue : str, int or None
        Depth of one queue, as ``64``, or of a read and a write queue, as ``64+64``; the system's
        unless given.
    refresh : str or None
        Refresh scheme: ``none``, ``all-bank``, ``staggered``, ``per-stack`` or ``per-bank``; the
        system's unless given.
    address_map : str or None
        Address map of the channel, from the lowest bit on; the system's unless given.

    Raises
    ------
    InputError
        A value is not allowed.
    """

    pattern: Annotated[PatternName | None, one_of(PATTERNS)] = None
    trace: Annotated[Path | None, Field(strict=False, description="a path")] = None
    ratio: Annotated[str, Field(pattern=f"^{_RATIO}$", description="a ratio such as 2:1")] = "1:1"
    offset: Annotated[int, integer(0, 1 << 40)] = 0
    stride: Annotated[int, integer(1, 1 << 30)] = 1
    requests: Annotated[int, integer(1, 1 << 24)] = 200_000
    offered: Annotated[int, integer(1, 64)] = 4
    queue: Annotated[str | int | None, Field(description="as 64, or as 64+64")] = None
    refresh: Annotated[Refresh | None, one_of(REFRESH)] = None
    address_map: Annotated[str | None, text()] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.pattern is None) == (self.trace is None):
            raise InputError("pattern", f"give one of {', '.join(PATTERNS)}, or a trace")
