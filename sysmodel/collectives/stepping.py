"""Stepping through the thread blocks of a plan until all have ended."""

from collections.abc import Callable, Sequence

__all__ = ["Block", "stuck_blocks"]

Block = Sequence[Callable[[], bool]]
"""Steps of a thread block. A step returns false if it must wait, and is called again later."""


def stuck_blocks(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """Run all blocks side by side; return the blocks that never end, each with its step."""
    position = [0] * len(blocks)
    moved = True
    while moved:
        moved = False
        for at, steps in enumerate(blocks):
            while position[at] < len(steps) and steps[position[at]]():
                position[at] += 1
                moved = True
    ends = zip(position, blocks, strict=True)
    return [(at, step) for at, (step, steps) in enumerate(ends) if step < len(steps)]
