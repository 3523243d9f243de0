"""Finds the reason of a hole: "line" or "toggle", a space, and the instance with the line or the
signal."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from .blocks import BLOCKS
from .channel import CHANNEL
from .everywhere import EVERYWHERE
from .top import TOP

__all__ = ["reason_of", "without_a_hole"]

# Of each block: patterns of a hole's whole name, and the reason. The first that matches counts.
_OF_BLOCKS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {"top": TOP, "channel": CHANNEL, **BLOCKS}
)


def _matching(block: str, hole: str) -> tuple[str, str] | None:
    for pattern, why in (*_OF_BLOCKS.get(block, ()), *EVERYWHERE):
        if re.fullmatch(pattern, hole):
            return pattern, why
    return None


def reason_of(block: str, hole: str) -> str | None:
    """Why a point is not hit; None if nobody has explained it."""
    found = _matching(block, hole)
    return found[1] if found else None


def without_a_hole(block: str, holes: Iterable[str]) -> list[str]:
    """The block's own patterns that explain none of these, which are all of its holes."""
    used = {_matching(block, hole) for hole in holes}
    return [entry[0] for entry in _OF_BLOCKS.get(block, ()) if entry not in used]
