"""Proofs of the address map: unmapped accesses get no action."""

from functools import partial
from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from rtl.channel.address_map import LocationLookup, RangeLookup
from rtl.interface.configuration import WAVEFRONT_COUNT_BITS
from rtl.interface.encodings import Action, Datatype, Operation
from rtl.parameters import T3Parameters

from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_P = T3Parameters(contexts=1)
_P_2 = T3Parameters(contexts=2)
_NARROW = T3Parameters(
    contexts=2,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=11,
    workgroup_bits=3,
    context_bits=2,
    sets=1,
    regions=2,
    ranges=2,
    commands=2,
)


class MapHarness(Elaboratable):
    """Harness with an arbitrary access and arbitrary tables: location and range of the access."""

    def __init__(
        self, location: type = LocationLookup, range_: type = RangeLookup, *, p: T3Parameters
    ):
        self._location = location
        self._range = range_
        self._p = p

    def elaborate(self, platform):
        m = Module()
        m.submodules.location = dut = self._location(self._p)
        m.submodules.range = range_ = self._range(self._p)
        free(m, dut.atom, dut.context, dut.dispatch_index, dut.end, dut.contexts)
        m.d.comb += [
            range_.contexts.eq(dut.contexts),
            range_.location.eq(dut.location),
            range_.dispatch_index.eq(dut.dispatch_index),
            range_.end.eq(dut.end),
        ]
        location = dut.location
        expected = self._expect(m, dut)
        mapped, known, none = Signal(), expected.known, Signal()
        updated = Cat(range_.action == action for action in (Action.DMA, Action.OWN)).any()
        arrives = (range_.action == Action.REMOTE) & (range_.shares != 0)
        tracked = updated | arrives
        m.d.comb += [
            none.eq(range_.action == Action.NONE),
            mapped.eq(expected.mapped | (dut.end & expected.owned)),
            Assert(mapped | none, "an action outside every region of the context"),
            Assert(~dut.end | none | tracked, "a marker of a tile outside the tracked ranges"),
            Assert(known | none, "an action for a dispatch index that the launch does not have"),
            Assert(location.owner == expected.owner, "wrong owner"),
            Assert(location.mapped == mapped, "wrong mapped"),
            Assert(location.valid == (mapped & known), "wrong valid"),
            Assert(
                ~expected.mapped | (location.region == expected.region), "not the lowest region"
            ),
            Cover(dut.end & tracked & ~expected.mapped, "a marker outside every region"),
            Cover(dut.end & arrives, "a marker in a slot of a range that leaves"),
            Cover(dut.end & ~expected.owned, "a marker without a context"),
            Cover(expected.within & ~mapped & none, "in a region, but in no context's space"),
            Cover(mapped & ~known, "mapped, but of an unknown dispatch index"),
            Cover(location.valid & none, "mapped, but in no range"),
        ]
        m.d.comb += [
            Cover((range_.action == action) & (expected.owner == owner), f"{owner}: {action.name}")
            for action in (Action.REMOTE, Action.DMA, Action.OWN)
            for owner in range(self._p.contexts)
        ]
        return m

    def _expect(self, m: Module, dut) -> SimpleNamespace:
        """Compute the expected result, context by context, the lowest one last."""
        p = self._p
        expected = SimpleNamespace(
            owner=Signal(range(max(p.contexts, 2)), name="owner"),
            within=Signal(name="within"),  # within a region of any context
            owned=Signal(name="owned"),
            mapped=Signal(name="mapped_atom"),
            region=Signal(range(p.regions), name="region"),
            known=Signal(name="known"),
        )
        for number, view in reversed(list(enumerate(dut.contexts))):
            mine = view.address_space.enable & (view.address_space.local == dut.context)
            with m.If(mine):
                m.d.comb += [
                    expected.owned.eq(1),
                    expected.owner.eq(number),
                    expected.mapped.eq(0),
                    expected.known.eq(dut.dispatch_index < view.slots),
                ]
            for index, entry in reversed(list(enumerate(view.maps.regions))):
                with m.If(entry.enable & (entry.base <= dut.atom) & (dut.atom < entry.limit)):
                    m.d.comb += expected.within.eq(1)
                    with m.If(mine):
                        m.d.comb += [expected.mapped.eq(1), expected.region.eq(index)]
        return expected


class OtherContextHarness(Elaboratable):
    """Harness that repeats an access with changed tables in one context at a time."""

    def __init__(self, location: type = LocationLookup, range_: type = RangeLookup):
        self._location = location
        self._range = range_

    def elaborate(self, platform):
        m = Module()
        location, range_ = self._look_up(m, "as_it_is")
        free(m, location.atom, location.context, location.dispatch_index, location.contexts)
        free(m, location.end, range_.wavefront)
        owned: list[Value] = []
        for number, view in enumerate(location.contexts):
            self._change(m, location, range_, number)
            owned.append(_owns(view, location))
            regions = view.maps.regions
            strange = Signal(name=f"strange_{number}")
            m.d.comb += strange.eq(
                ~_owns(view, location)
                & Cat(
                    entry.enable & (entry.base <= location.atom) & (location.atom < entry.limit)
                    for entry in regions
                ).any()
            )
            m.d.comb += [
                Assert(
                    _owns(view, location)
                    | ~location.location.mapped
                    | (location.location.owner != number),
                    f"{number}: the access belongs to the context",
                ),
                Cover(
                    strange & (range_.action == Action.DMA),
                    f"{number}: in a region of both contexts",
                ),
                Cover(
                    strange & ~location.location.mapped,
                    f"{number}: only in a region of this context",
                ),
            ]
        m.d.comb += Assert(location.unowned == ~Cat(owned).any(), "wrong unowned")
        return m

    def _look_up(self, m: Module, name: str) -> tuple:
        m.submodules[f"location_{name}"] = location = self._location(_NARROW)
        m.submodules[f"range_{name}"] = range_ = self._range(_NARROW)
        m.d.comb += [
            range_.contexts.eq(location.contexts),
            range_.location.eq(location.location),
            range_.dispatch_index.eq(location.dispatch_index),
            range_.end.eq(location.end),
        ]
        return location, range_

    def _change(self, m: Module, location, range_, number: int) -> None:
        """Assert that the tables of a context do not matter if the access is not in its space."""
        changed, changed_range = self._look_up(m, f"changed_{number}")
        m.d.comb += [
            getattr(changed, name).eq(getattr(location, name))
            for name in ("atom", "context", "dispatch_index", "end")
        ]
        for other, view in enumerate(location.contexts):
            if other != number:
                m.d.comb += changed.contexts[other].eq(view)
        free(m, changed.contexts[number])
        m.d.comb += changed_range.wavefront.eq(range_.wavefront)
        applies = Signal(name=f"applies_{number}")
        m.d.comb += [
            applies.eq(
                ~_owns(location.contexts[number], location)
                & ~_owns(changed.contexts[number], location)
            ),
            Assert(~applies | (location.location == changed.location), f"{number}: location"),
            Assert(~applies | (location.unowned == changed.unowned), f"{number}: unowned"),
        ]
        m.d.comb += [
            Assert(
                ~applies
                | (Value.cast(getattr(range_, name)) == Value.cast(getattr(changed_range, name))),
                f"{number}: {name}",
            )
            for name in ("action", "number", "shares", "op", "dtype", "beyond")
        ]


def _owns(view: data.View, lookup) -> Value:
    """Signal that a context owns the address space of the access."""
    return view.address_space.enable & (view.address_space.local == lookup.context)


class RangeHarness(Elaboratable):
    """Harness with an arbitrary request and tables; it evaluates the entries one by one."""

    def __init__(self, lookup: type = RangeLookup, *, p: T3Parameters):
        self._lookup = lookup
        self._p = p

    def elaborate(self, platform):
        m = Module()
        p = self._p
        m.submodules.dut = dut = self._lookup(p)
        free(m, dut.contexts, dut.location, dut.dispatch_index, dut.wavefront, dut.end)
        for number in range(p.contexts):
            self._assert_of(m, dut, number)
        return m

    def _assert_of(self, m: Module, dut, number: int) -> None:
        """Assert the result for a location of one context with that context's tables."""
        p, location, maps = self._p, dut.location, dut.contexts[number].maps
        own = location.owner == number
        holders = Signal(p.ranges, name=f"holders_{number}")
        action = Signal(Action, name=f"action_{number}")
        op, dtype = Signal(Operation, name=f"op_{number}"), Signal(Datatype, name=f"dtype_{number}")
        lowest = Signal(range(p.ranges), name=f"range_{number}")
        command = Signal(range(p.commands), name=f"command_{number}")
        shares = Signal(p.share_bits, name=f"shares_{number}")
        wavefronts = Signal(WAVEFRONT_COUNT_BITS, name=f"wavefronts_{number}")
        for index in reversed(range(p.ranges)):
            entry = maps.ranges[index]
            arrives = (entry.action == Action.REMOTE) & (entry.shares != 0)
            tracked = (entry.action == Action.DMA) | (entry.action == Action.OWN) | arrives
            m.d.comb += holders[index].eq(
                location.valid
                & entry.enable
                & Mux(dut.end, tracked, entry.region == location.region)
                & (dut.dispatch_index >= entry.first)
                & (dut.dispatch_index <= entry.last)
            )
            with m.If(holders[index]):
                m.d.comb += [action.eq(entry.action), command.eq(entry.command), lowest.eq(index)]
                m.d.comb += shares.eq(entry.shares)
                m.d.comb += wavefronts.eq(dut.contexts[number].wavefronts[index])
        with m.If(holders.any()), m.Switch(command):
            for index, entry in enumerate(maps.commands):
                with m.Case(index):
                    m.d.comb += [op.eq(entry.op), dtype.eq(entry.dtype)]
        with m.If(own):
            m.d.comb += [
                Assert(
                    holders.any() | (dut.action == Action.NONE), "an action outside every range"
                ),
                Assert(dut.action == action, "not the action of the lowest matching range"),
                Assert(dut.number == lowest, "not the number of the lowest matching range"),
                Assert(dut.shares == shares, "not the shares of the lowest matching range"),
                Assert(dut.op == op, "not the op of the command"),
                Assert(dut.dtype == dtype, "not the dtype of the command"),
                Assert(
                    dut.beyond == (holders.any() & (dut.wavefront >= wavefronts)),
                    "not the wavefronts of the range",
                ),
                Cover(holders.any() & dut.beyond, f"{number}: of no wavefront"),
                Cover(holders.all(), f"{number}: in every range"),
                Cover(dut.end & holders.all(), f"{number}: a marker in every range"),
                Cover(location.valid & ~holders.any(), f"{number}: in no range"),
                Cover(
                    holders[-1] & ~holders[:-1].any() & (command == p.commands - 1),
                    f"{number}: in the last range only",
                ),
            ]


def _map_proof(p: T3Parameters) -> Proof:
    return Proof(
        name="address-map" + _suffix(p),
        statement="An access gets action NONE if it is outside every enabled region of the lowest "
        "context with its address space, in no context's address space, or of a dispatch index "
        "that the launch does not have; owner and region follow the specification; a packet's "
        "marker needs no region, and gets only an action whose tiles are tracked",
        blocks=(LocationLookup, RangeLookup),
        harness=partial(MapHarness, p=p),
        geometry=f"reference with arbitrary tables, contexts: {p.contexts}",
        depth=1,
        cover_depth=1,
        solver="z3",
    )


def _range_proof(p: T3Parameters) -> Proof:
    return Proof(
        name="range-lookup" + _suffix(p),
        statement="A dispatch index in no range of its location gets action NONE; any other one "
        "gets the action, number, shares, op and dtype of the lowest range that holds it, and is "
        "beyond if its wavefront is not below the range's number; that of a packet's marker is "
        "in the ranges of all regions whose tiles are tracked",
        blocks=(RangeLookup,),
        harness=partial(RangeHarness, p=p),
        geometry=f"reference with arbitrary tables, contexts: {p.contexts}",
        depth=1,
        cover_depth=1,
        solver="z3",
        slow=p.contexts > 1,
    )


def _suffix(p: T3Parameters) -> str:
    return "" if p.contexts == 1 else f"-contexts-{p.contexts}"


PROOFS = (
    *(_map_proof(p) for p in (_P, _P_2)),
    *(_range_proof(p) for p in (_P, _P_2)),
    Proof(
        name="address-map-strangers",
        statement="An access is never assigned to a context with another address space, and its "
        "result does not depend on that context's tables",
        blocks=(LocationLookup, RangeLookup),
        harness=OtherContextHarness,
        geometry="2 contexts, 2 regions, 2 ranges, 2 commands, addresses of 6 bits, 8 workgroups",
        reason="the proof depends on no width; address-map and range-lookup use the reference's",
        depth=1,
        cover_depth=1,
    ),
)
