"""Two-step lookup of an address and a dispatch index in the programmed output buffers."""

from collections.abc import Iterable

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ContextView
from rtl.interface.encodings import Action, Datatype, Operation
from rtl.interface.layouts import Location
from rtl.lib.select import one_hot_first, one_hot_select, select_at
from rtl.parameters import T3Parameters

from .admission import is_tracked

__all__ = ["LocationLookup", "RangeLookup"]


class LocationLookup(wiring.Component):
    """First lookup: context and region of an atom, and validity of a dispatch index.

    Combinational. If several contexts share an address space, or several regions contain the atom,
    the lowest-numbered one is found.

    Members
    -------
    atom, context, dispatch_index : In
        Atom address, address space and dispatch index to look up.
    end : In(1)
        The request is the end-of-tile marker of a packet, which has no atom: it is mapped if it has
        a context.
    contexts : In(array of :func:`ContextView`)
    location : Out(:func:`Location`)
        The region is 0 outside every region, the owner is 0 without a context.
    unowned : Out(1)
        No context has the address space.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        super().__init__(
            {
                "atom": In(p.atom_address_bits),
                "context": In(p.context_bits),
                "dispatch_index": In(p.dispatch_index_bits),
                "end": In(1),
                "contexts": In(data.ArrayLayout(ContextView(p), p.contexts)),
                "location": Out(Location(p)),
                "unowned": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        location, contexts = self.location, self.contexts
        spaces = [view.address_space for view in contexts]
        owner = one_hot_first(Cat(space.enable & (space.local == self.context) for space in spaces))

        def of_owner(values: Iterable[Value], name: str) -> Signal:
            """Select the owner's value before comparing: a comparator per context is larger."""
            chosen = one_hot_select(owner, values)
            signal = Signal(len(chosen), name=name)
            m.d.comb += signal.eq(chosen)
            return signal

        hits = Signal(len(contexts[0].maps.regions))
        for index, hit in enumerate(hits):
            entries = [view.maps.regions[index] for view in contexts]
            enable, base, limit = (
                of_owner([entry[name] for entry in entries], f"{name}_{index}")
                for name in ("enable", "base", "limit")
            )
            m.d.comb += hit.eq(enable & (base <= self.atom) & (self.atom < limit))
        slots = of_owner([view.slots for view in contexts], "slots")
        aborting = of_owner([view.aborting for view in contexts], "aborting")
        mapped = Signal()
        m.d.comb += [
            mapped.eq(hits.any() | (self.end & owner.any())),
            self.unowned.eq(~owner.any()),
            location.owner.eq(one_hot_select(owner, range(len(spaces)))),
            location.mapped.eq(mapped),
            location.counted.eq(mapped & ~aborting),
            location.region.eq(one_hot_select(one_hot_first(hits), range(len(hits)))),
            location.valid.eq(mapped & (self.dispatch_index < slots)),
        ]
        return m


class RangeLookup(wiring.Component):
    """Second lookup: range of a dispatch index, and operation of the range's command.

    Combinational. If several ranges match, the lowest-numbered one is found.

    Members
    -------
    location : In(:func:`Location`)
        Location to look up.
    dispatch_index, wavefront : In
        Dispatch index and wavefront of the request.
    end : In(1)
        The request is the end-of-tile marker of a packet: the range may be of any region, and its
        tiles are tracked.
    contexts : In(array of :func:`ContextView`)
    action : Out(:class:`Action`)
        Action of the range; NONE without a range.
    number : Out
        Number of the range; 0 with action NONE.
    shares : Out(share_bits)
        Shares with which a tile of the range is complete; 0 with action NONE.
    op : Out(:class:`Operation`)
    dtype : Out(:class:`Datatype`)
        Operation and data type of the command; 0 with action NONE.
    beyond : Out(1)
        The command has no such wavefront, for any edges; 0 with action NONE.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._ranges = p.ranges
        super().__init__(
            {
                "location": In(Location(p)),
                "dispatch_index": In(p.dispatch_index_bits),
                "wavefront": In(p.wavefront_bits),
                "end": In(1),
                "contexts": In(data.ArrayLayout(ContextView(p), p.contexts)),
                "action": Out(Action),
                "number": Out(range(p.ranges) if p.ranges > 1 else 1),
                "shares": Out(p.share_bits),
                "op": Out(Operation),
                "dtype": Out(Datatype),
                "beyond": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        location, views = self.location, self.contexts
        hits, beyond = Signal(self._ranges), Signal(self._ranges)
        entries = []
        for index, hit in enumerate(hits):
            entry = Signal.like(views[0].maps.ranges[index], name=f"range_{index}")
            of_each = [view.maps.ranges[index] for view in views]
            wavefronts = select_at(location.owner, [view.wavefronts[index] for view in views])
            m.d.comb += [
                entry.as_value().eq(select_at(location.owner, of_each)),
                # Compared before the hits are known.
                beyond[index].eq(self.wavefront >= wavefronts),
            ]
            entries.append(entry)
            m.d.comb += hit.eq(
                location.valid
                & entry.enable
                & Mux(
                    self.end,
                    is_tracked(entry.action, entry.shares),
                    entry.region == location.region,
                )
                & (entry.first <= self.dispatch_index)
                & (self.dispatch_index <= entry.last)
            )
        first = one_hot_first(hits)
        commands = [view.maps.commands for view in views]
        m.d.comb += [
            Value.cast(self.action).eq(one_hot_select(first, [e.action for e in entries])),
            self.number.eq(one_hot_select(first, range(self._ranges))),
            self.shares.eq(one_hot_select(first, [e.shares for e in entries])),
            self.beyond.eq((first & beyond).any()),
        ]
        for name in ("op", "dtype"):
            of_owner = [
                select_at(location.owner, [of_one[number][name] for of_one in commands])
                for number in range(len(commands[0]))
            ]
            # Each range's value is selected before the hits are known.
            of_range = [select_at(entry.command, of_owner) for entry in entries]
            m.d.comb += Value.cast(getattr(self, name)).eq(one_hot_select(first, of_range))
        return m
