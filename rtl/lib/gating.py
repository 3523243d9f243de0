"""Clock gating: the mark of a clock-gated block, and the transformation that inserts its gate."""

from collections.abc import Callable
from typing import TypeVar

from amaranth.hdl import Fragment
from amaranth.lib import wiring

__all__ = [
    "CLOCK_ENABLE",
    "clock_gated",
    "gated_block",
    "has_clock_enable",
    "insert_clock_gates",
    "is_clock_gated",
]

CLOCK_ENABLE = "While it is low, a clock edge changes nothing."
"""Description of the output ``clock_enable``, which every block that can be gated has."""

MARK = "_is_clock_gated"
"""Attribute of a component that is marked."""

_Block = TypeVar("_Block", bound=wiring.Component)
Gate = Callable[[wiring.Component, Fragment], Fragment]
"""Function that puts a gate in front of a block: it takes the block and its fragment, and returns
the gated fragment.
"""


def clock_gated(block: _Block) -> _Block:
    """Mark a submodule as clock-gated: its clock may stop while its output ``clock_enable`` is low.

    A marked block promises that a clock edge in a cycle without ``clock_enable`` changes nothing in
    it. The mark alone changes nothing either: :func:`insert_clock_gates` inserts the gates.
    """
    setattr(block, MARK, True)
    return block


def is_clock_gated(block: object) -> bool:
    """Test whether a block is marked."""
    return getattr(block, MARK, False)


def has_clock_enable(block: wiring.Component) -> bool:
    """Test whether a block has a clock enable, so that it can be gated."""
    return "clock_enable" in block.signature.members


def gated_block(fragment: Fragment) -> wiring.Component | None:
    """Find the marked block that a fragment is made from."""
    return next((one for one in fragment.origins or () if is_clock_gated(one)), None)


def insert_clock_gates(fragment: Fragment, gate: Gate) -> Fragment:
    """Insert a gate for every marked block of an elaborated design, inner blocks first.

    Parameters
    ----------
    fragment : Fragment
        Elaborated design in one clock domain, ``sync``; it is changed.
    gate : callable
        Inserts the gate of one block. It must move the block to a clock domain of its own, so that
        the gate of a surrounding block does not apply to it.
    """
    fragment.subfragments[:] = [
        (insert_clock_gates(inner, gate), name, src_loc)
        for inner, name, src_loc in fragment.subfragments
    ]
    block = gated_block(fragment)
    return fragment if block is None else gate(block, fragment)
