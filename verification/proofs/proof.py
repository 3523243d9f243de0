"""What a proof is."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from amaranth.hdl import Elaboratable

__all__ = ["Mode", "Proof"]


class Mode(Enum):
    """How far a proof reaches."""

    INDUCTION = "prove"  # every number of cycles
    BOUNDED = "bmc"  # the first ``depth`` cycles after reset


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A statement about a block, and the harness that asserts it.

    The harness drives the block's ports with free inputs (``AnySeq``, ``AnyConst``), asserts the
    statement and covers the states that make it worth something, each with a message. What only the
    induction needs is an ``invariant``. The reset is free too: ghost state that remembers is to be
    reset with the block.

    Parameters
    ----------
    name : str
        Unique; letters, digits and dashes.
    statement : str
        What is proven, for a table.
    blocks : tuple of type
        The hardware, unchanged; :meth:`with_copy` puts others in their place.
    harness : callable
        Makes the harness of ``blocks``.
    geometry : str
        Of the blocks.
    reason : str
        Why the geometry is not the reference's, or the mode is not induction; empty if they are.
    mode : Mode
    depth : int
        Cycles: the k of the induction, or the bound.
    cover_depth : int
        Cycles within which every cover is reached, and within which a counterexample is looked for
        when the proof fails.
    solver : str
        ``yices``, or ``z3`` where that is better.
    timeout_s : int
        Most seconds of each of the two runs.
    slow : bool
        Left to ``make verify``.

    Raises
    ------
    ValueError
        A bounded proof without a reason.
    """

    name: str
    statement: str
    blocks: tuple[type, ...]
    harness: Callable[..., Elaboratable]
    geometry: str
    reason: str = ""
    mode: Mode = Mode.INDUCTION
    depth: int
    cover_depth: int
    solver: str = "yices"
    timeout_s: int = 300
    slow: bool = False

    def __post_init__(self) -> None:
        if self.mode is Mode.BOUNDED and not self.reason:
            raise ValueError(f"A bounded proof must give its reason: {self.name!r}")

    def with_copy(self, original: type, copy: Any) -> "Proof":
        """The same proof of a copy of one of its blocks.

        Raises
        ------
        ValueError
            ``original`` is not among the blocks.
        """
        if original not in self.blocks:
            raise ValueError(f"{self.name!r} has no block {original!r}")
        blocks = tuple(copy if block is original else block for block in self.blocks)
        return replace(self, blocks=blocks)
