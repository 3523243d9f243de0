"""Description of a proof."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from amaranth.hdl import Elaboratable

__all__ = ["Mode", "Proof"]


class Mode(Enum):
    """Reach of a proof."""

    INDUCTION = "prove"  # every number of cycles
    BOUNDED = "bmc"  # the first ``depth`` cycles after reset


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Proof of a statement about a block, with the harness that asserts it.

    The harness drives the block's ports with free inputs (``AnySeq``, ``AnyConst``), asserts the
    statement, and covers the states that show that the statement is not vacuous, each with a
    message. Assertions that only the induction needs are made by ``invariant``. The reset is a free
    input, too: ghost state must be reset together with the block.

    Parameters
    ----------
    name : str
        Unique name of letters, digits and dashes.
    statement : str
        Proven property, for a table.
    blocks : tuple of type
        Blocks of the unchanged hardware; :meth:`with_copy` replaces one of them.
    harness : callable
        Function that makes the harness for ``blocks``.
    geometry : str
        Sizes of the blocks.
    reason : str
        Reason for a geometry other than the reference's or for a bounded mode; else empty.
    depth : int
        Cycles: k of the induction, or the bound.
    cover_depth : int
        Cycles within which every cover is reached; also the depth of the search for a
        counterexample after a failure.
    solver : str
        ``yices``, or ``z3`` where that is faster.
    timeout_s : int
        Time limit of each of the two runs.
    slow : bool
        Run by ``make verify`` only.

    Raises
    ------
    ValueError
        If a bounded proof has no reason.
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
        """Make the same proof with a copy in the place of one block.

        Raises
        ------
        ValueError
            If ``original`` is not among the blocks.
        """
        if original not in self.blocks:
            raise ValueError(f"{self.name!r} has no block {original!r}")
        blocks = tuple(copy if block is original else block for block in self.blocks)
        return replace(self, blocks=blocks)
