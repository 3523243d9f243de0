"""Assertions that only an induction needs."""

from amaranth.hdl import Assert, ValueLike

__all__ = ["INVARIANT", "invariant"]

INVARIANT = "invariant:"
"""How the message of an assertion begins that is no part of the block's contract."""


def invariant(condition: ValueLike, message: str) -> Assert:
    """An assertion about the attributes of a block that its constructor makes for proofs to read.

    When a proof fails, a counterexample to the others is looked for.
    """
    return Assert(condition, f"{INVARIANT} {message}", src_loc_at=1)
