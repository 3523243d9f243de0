"""Why some of the Verilog cannot be run through, or is not by its block's bench."""

import re

__all__ = ["REASONS", "reason_of"]

REASONS: tuple[tuple[str, str, str], ...] = (
    (
        r".*",
        r"toggle .*\$\d+",
        "no signal of the source, but a step of an expression, with bits that are constant",
    ),
)
"""Patterns of the block's and of the hole's whole name, and the reason; the first that match count.
A hole is "line" or "toggle", a space, and the instance with the line or the signal."""


def reason_of(block: str, hole: str) -> str | None:
    """Why a point is not hit; None if nobody has explained it."""
    for blocks, holes, why in REASONS:
        if re.fullmatch(blocks, block) and re.fullmatch(holes, hole):
            return why
    return None
