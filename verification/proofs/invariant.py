"""Invariants: assertions that only an induction needs."""

from amaranth.hdl import Assert, ValueLike

__all__ = ["INVARIANT", "invariant"]

INVARIANT = "invariant:"
"""Prefix of the message of an assertion that is not part of the block's contract."""


def invariant(condition: ValueLike, message: str) -> Assert:
    """Assert a property of a block's internal signals, which its constructor exposes to proofs.

    When a proof fails, a counterexample to the other assertions is searched for.
    """
    return Assert(condition, f"{INVARIANT} {message}", src_loc_at=1)
