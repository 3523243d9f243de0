"""What a store or a packet is to its context: whether it is of a launch that counts, and whether
its dispatch index is admitted."""

from collections.abc import Iterable

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from rtl.interface.configuration import GENERATION_BITS, ContextView
from rtl.interface.encodings import Action
from rtl.lib.select import select_at
from rtl.parameters import T3Parameters

__all__ = [
    "Admission",
    "admission_of",
    "is_aborted",
    "is_ahead",
    "is_late",
    "is_of_former",
    "is_of_launch",
    "is_tracked",
]

_NAMES = ("aborting", "launched", "former", "oldest", "credit_limit")

Admissions = Iterable[data.View]  # one of each context


def Admission(p: T3Parameters):
    """What a context lets through: the :func:`ContextView` without tables. ``generation`` is that
    of its launch."""
    members = ContextView(p).members
    return data.StructLayout(
        {name: members[name] for name in _NAMES} | {"generation": GENERATION_BITS}
    )


def admission_of(view: data.View) -> Value:
    """A context's :func:`Admission`."""
    return Cat(*(view[name] for name in _NAMES), view.launch_configuration.generation)


def is_aborted(admissions: Admissions, location: data.View) -> Value:
    """What came during an abort stays out after its end as well."""
    aborting = select_at(location.owner, [one.aborting for one in admissions])
    return location.mapped & (aborting | ~location.counted)


def is_of_launch(admissions: Admissions, location: data.View, generation: Value) -> Value:
    """Whether something is of the launch that runs."""
    return select_at(
        location.owner,
        [one.launched & (one.generation == generation) for one in admissions],
    )


def is_of_former(admissions: Admissions, location: data.View, generation: Value) -> Value:
    """Whether something is of the launch before, if that was not aborted."""
    return select_at(
        location.owner,
        [one.former.valid & (one.former.generation == generation) for one in admissions],
    )


def is_late(admissions: Admissions, location: data.View) -> Value:
    """Whether a dispatch index was admitted once, and is no longer."""
    return select_at(location.owner, [location.dispatch_index < one.oldest for one in admissions])


def is_ahead(admissions: Admissions, location: data.View) -> Value:
    """Whether a dispatch index is yet to be admitted."""
    return select_at(
        location.owner, [location.dispatch_index >= one.credit_limit for one in admissions]
    )


def is_tracked(action: Value) -> Value:
    """Whether the updates of a range with this action are counted here."""
    return (action == Action.DMA) | (action == Action.OWN)
