"""Admission predicates: whether a store or a packet belongs to a current launch, and whether its
dispatch index is inside the credit window."""

from collections.abc import Iterable

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from rtl.interface.configuration import GENERATION_BITS, ContextView
from rtl.interface.encodings import Action, PacketKind
from rtl.lib.select import select_at
from rtl.parameters import T3Parameters

__all__ = [
    "Admission",
    "admission_of",
    "is_aborted",
    "is_ahead",
    "is_end",
    "is_late",
    "is_of_former",
    "is_of_launch",
    "is_tracked",
    "is_updated",
]

_NAMES = ("aborting", "launched", "former", "oldest", "credit_limit")

Admissions = Iterable[data.View]  # one view for each context


def Admission(p: T3Parameters):
    """Admission state of a context: the :func:`ContextView` without tables, with the ``generation``
    of its launch."""
    members = ContextView(p).members
    return data.StructLayout(
        {name: members[name] for name in _NAMES} | {"generation": GENERATION_BITS}
    )


def admission_of(view: data.View) -> Value:
    """Extract a context's :func:`Admission` from its view."""
    return Cat(*(view[name] for name in _NAMES), view.launch_configuration.generation)


def is_aborted(admissions: Admissions, location: data.View) -> Value:
    """Test whether a request belongs to an aborted launch, even after the abort has ended."""
    aborting = select_at(location.owner, [one.aborting for one in admissions])
    return location.mapped & (aborting | ~location.counted)


def is_of_launch(admissions: Admissions, location: data.View, generation: Value) -> Value:
    """Test whether a request belongs to the current launch."""
    return select_at(
        location.owner,
        [one.launched & (one.generation == generation) for one in admissions],
    )


def is_of_former(admissions: Admissions, location: data.View, generation: Value) -> Value:
    """Test whether a request belongs to the previous launch, if that launch was not aborted."""
    return select_at(
        location.owner,
        [one.former.valid & (one.former.generation == generation) for one in admissions],
    )


def is_late(admissions: Admissions, location: data.View, dispatch_index: Value) -> Value:
    """Test whether a dispatch index is below the credit window: its updates are complete."""
    return select_at(location.owner, [dispatch_index < one.oldest for one in admissions])


def is_ahead(admissions: Admissions, location: data.View, dispatch_index: Value) -> Value:
    """Test whether a dispatch index is above the credit window and not admitted yet."""
    return select_at(location.owner, [dispatch_index >= one.credit_limit for one in admissions])


def is_end(packet: data.View) -> Value:
    """Test whether a packet is an end-of-tile marker."""
    return packet.kind == PacketKind.END


def is_updated(action: Value) -> Value:
    """Test whether stores into a range with this action update the memory here."""
    return (action == Action.DMA) | (action == Action.OWN)


def is_tracked(action: Value, shares: Value) -> Value:
    """Test whether the tracker counts the tiles of a range: those that are updated here, and those
    whose stores leave while contributions of other GPUs arrive."""
    return is_updated(action) | ((action == Action.REMOTE) & shares.any())
