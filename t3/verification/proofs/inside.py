"""Reaches what a block does not show, for the invariants that an induction needs."""

import sys
from types import FrameType, SimpleNamespace
from typing import Any

from amaranth.hdl import Assert, ValueLike
from amaranth.lib.wiring import Component

__all__ = ["INVARIANT", "invariant", "opened"]

INVARIANT = "invariant:"
"""How the message of an assertion begins that is no part of the block's contract."""


def opened(block: Component) -> SimpleNamespace:
    """Elaborate a block, once and for good, and keep the local variables of its ``elaborate``.

    Registers that are no ports are local variables there; a harness may read them, since a signal
    can be read from everywhere in a design, and give a memory another read port. Blocks within the
    block can be opened in turn; ``m.submodules`` has them by name.

    Parameters
    ----------
    block : Component
        A submodule of the harness, or of an opened block.

    Returns
    -------
    SimpleNamespace
        The variables as they were at the end.
    """
    code = type(block).elaborate.__code__
    inside: dict[str, Any] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is code:
            inside.update(frame.f_locals)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        module = block.elaborate(None)
    finally:
        sys.setprofile(before)
    # What is in the design must be what was seen.
    block.elaborate = lambda platform: module
    return SimpleNamespace(**inside)


def invariant(condition: ValueLike, message: str) -> Assert:
    """An assertion that only the induction needs: it may look into the block.

    When a proof fails, a counterexample to the others is looked for.
    """
    return Assert(condition, f"{INVARIANT} {message}", src_loc_at=1)
