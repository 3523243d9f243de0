"""Lookup of an address and a workgroup in the programmed output buffers, in two steps."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ContextView
from rtl.interface.encodings import Action, Datatype, Operation
from rtl.interface.layouts import Location
from rtl.lib.select import one_hot_first, one_hot_select, select_at
from rtl.parameters import T3Parameters

__all__ = ["LocationLookup", "RangeLookup"]


@dataclass(frozen=True)
class _Found:
    """What one context says of a request."""

    hits: Signal  # by region
    counted: Value
    region: Value
    launched: Value  # its launch has the workgroup
    dispatch_index: Value


class LocationLookup(wiring.Component):
    """Finds the context and the region of an atom, and the dispatch index of a workgroup.

    Combinational. The lowest-numbered context with the address space counts, and in it the
    lowest-numbered region.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    atom, context, workgroup : In
        What is looked up.
    contexts : In(array of :func:`ContextView`)
    location : Out(:func:`Location`)
        The region is 0 outside every region, and the owner 0 without a context; of a context, the
        dispatch index is computed whether or not it is valid.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        super().__init__(
            {
                "atom": In(p.atom_address_bits),
                "context": In(p.context_bits),
                "workgroup": In(p.workgroup_bits),
                "contexts": In(data.ArrayLayout(ContextView(p), p.contexts)),
                "location": Out(Location(p)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        location = self.location
        spaces = [view.address_space for view in self.contexts]
        owner = one_hot_first(Cat(space.enable & (space.local == self.context) for space in spaces))
        found = [self._in_context(m, number, view) for number, view in enumerate(self.contexts)]
        m.d.comb += location.owner.eq(one_hot_select(owner, range(len(spaces))))
        m.d.comb += [
            location.mapped.eq((owner & Cat(one.hits.any() for one in found)).any()),
            location.counted.eq((owner & Cat(one.counted for one in found)).any()),
            location.region.eq(one_hot_select(owner, [one.region for one in found])),
            location.dispatch_index.eq(
                one_hot_select(owner, [one.dispatch_index for one in found])
            ),
            location.valid.eq((owner & Cat(one.hits.any() & one.launched for one in found)).any()),
        ]
        return m

    def _in_context(self, m: Module, number: int, view: data.View) -> "_Found":
        """What the lookup finds in one context, before it is known whether that is the owner."""
        regions, launch_configuration = view.maps.regions, view.launch_configuration
        hits = Signal(len(regions), name=f"hits_{number}")
        for index, entry in enumerate(regions):
            m.d.comb += hits[index].eq(
                entry.enable & (entry.base <= self.atom) & (self.atom < entry.limit)
            )
        workgroup = self.workgroup
        first, workgroups = launch_configuration.first_workgroup, launch_configuration.workgroups
        # Both dispatch indices at once; the comparison chooses late.
        direct = workgroup - first
        wrapped = workgroup + (workgroups - first)
        bits = len(self.location.dispatch_index)
        return _Found(
            hits=hits,
            counted=hits.any() & ~view.aborting,
            region=one_hot_select(one_hot_first(hits), range(len(regions))),
            launched=workgroup < workgroups,
            dispatch_index=Mux(workgroup < first, wrapped, direct)[:bits],
        )


class RangeLookup(wiring.Component):
    """Finds the range that holds a dispatch index of a region, and what its command does.

    Combinational. The lowest-numbered range wins.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    location : In(:func:`Location`)
        What is looked up.
    contexts : In(array of :func:`ContextView`)
    action : Out(:class:`Action`)
        The range's; NONE without one.
    command : Out
        Number of the range's command; 0 with action NONE.
    op : Out(:class:`Operation`)
    dtype : Out(:class:`Datatype`)
        The command's; 0 with action NONE.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._ranges = p.ranges
        super().__init__(
            {
                "location": In(Location(p)),
                "contexts": In(data.ArrayLayout(ContextView(p), p.contexts)),
                "action": Out(Action),
                "command": Out(range(p.commands) if p.commands > 1 else 1),
                "op": Out(Operation),
                "dtype": Out(Datatype),
            }
        )

    def elaborate(self, platform):
        m = Module()
        location = self.location
        entries = [
            (entry, view.maps.commands, location.owner == number)
            for number, view in enumerate(self.contexts)
            for entry in view.maps.ranges
        ]
        hits = Signal(len(entries))
        for index, (entry, _, own) in enumerate(entries):
            m.d.comb += hits[index].eq(
                location.valid
                & own
                & entry.enable
                & (entry.region == location.region)
                & (entry.first <= location.dispatch_index)
                & (location.dispatch_index <= entry.last)
            )
        first = Signal.like(hits)
        # Only the ranges of one context can be hit.
        of_context = [hits[start:][: self._ranges] for start in range(0, len(hits), self._ranges)]
        m.d.comb += first.eq(Cat(one_hot_first(of_one) for of_one in of_context))
        m.d.comb += [
            Value.cast(self.action).eq(one_hot_select(first, [e.action for e, _, _ in entries])),
            self.command.eq(one_hot_select(first, [e.command for e, _, _ in entries])),
            # Of every range, before the hit is known.
            *(
                Value.cast(getattr(self, name)).eq(
                    one_hot_select(
                        first,
                        [select_at(e.command, [c[name] for c in of]) for e, of, _ in entries],
                    )
                )
                for name in ("op", "dtype")
            ),
        ]
        return m
