"""Lookup of the waiver for a coverage hole.

A hole is named by its kind ("line" or "toggle"), a space, and the instance with the line or signal.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from .blocks import BLOCKS
from .channel import CHANNEL
from .everywhere import EVERYWHERE
from .top import TOP

__all__ = ["reason_of", "unused_waivers"]

# Patterns that match the whole name of a hole, with the reason. The first match applies.
_OF_BLOCKS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {"top": TOP, "channel": CHANNEL, **BLOCKS}
)


def _matching(block: str, hole: str) -> tuple[str, str] | None:
    for pattern, why in (*_OF_BLOCKS.get(block, ()), *EVERYWHERE):
        if re.fullmatch(pattern, hole):
            return pattern, why
    return None


def reason_of(block: str, hole: str) -> str | None:
    """Reason why a point is waived; None if it is not."""
    found = _matching(block, hole)
    return found[1] if found else None


def unused_waivers(block: str, holes: Iterable[str]) -> list[str]:
    """List the block's own patterns that match none of its holes."""
    used = {_matching(block, hole) for hole in holes}
    return [entry[0] for entry in _OF_BLOCKS.get(block, ()) if entry not in used]
