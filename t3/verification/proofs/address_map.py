"""Address map: nothing becomes an update, a remote update or a trigger that is not mapped."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from rtl.channel.address_map import LocationLookup, RangeLookup
from rtl.interface.encodings import Action, Datatype, Operation
from rtl.parameters import T3Parameters

from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_P = T3Parameters()


class MapHarness(Elaboratable):
    """Any access in any tables: its location, and the range of that location.

    The dispatch index is compared only where the dispatch order can be: its first workgroup is one
    of its workgroups, and there are no more of them than ids. NONE is asserted for every register
    value.
    """

    def __init__(self, location: type = LocationLookup, range_: type = RangeLookup):
        self._location = location
        self._range = range_

    def elaborate(self, platform):
        m = Module()
        m.submodules.location = dut = self._location(_P)
        m.submodules.range = range_ = self._range(_P)
        free(m, dut.atom, dut.context, dut.workgroup, dut.maps, dut.launch_configuration)
        m.d.comb += [range_.maps.eq(dut.maps), range_.location.eq(dut.location)]
        location, launch_configuration, workgroup = (
            dut.location,
            dut.launch_configuration,
            dut.workgroup,
        )

        mapped, strange, known = Signal(), Signal(), Signal()
        region = Signal(range(_P.regions))
        for index in reversed(range(_P.regions)):
            entry = dut.maps.regions[index]
            within = entry.enable & (entry.base <= dut.atom) & (dut.atom < entry.limit)
            with m.If(within & (entry.context == dut.context)):
                m.d.comb += [mapped.eq(1), region.eq(index)]
            with m.If(within & (entry.context != dut.context)):
                m.d.comb += strange.eq(1)
        m.d.comb += known.eq(workgroup < launch_configuration.workgroups)
        # As integers, before anything wraps.
        first = launch_configuration.first_workgroup
        dispatch_index = Mux(
            workgroup < first,
            workgroup + launch_configuration.workgroups - first,
            workgroup - first,
        )
        possible = (first < launch_configuration.workgroups) & (
            launch_configuration.workgroups <= 1 << _P.workgroup_bits
        )

        none = Signal()
        m.d.comb += [
            none.eq(range_.action == Action.NONE),
            Assert(mapped | none, "outside every region of its context, but not NONE"),
            Assert(known | none, "a workgroup that the launch does not have, but not NONE"),
            Assert(location.mapped == mapped, "mapped: wrong"),
            Assert(location.valid == (mapped & known), "valid: wrong"),
            Assert(~mapped | (location.region == region), "not the lowest region"),
            Assert(
                ~(location.valid & possible) | (location.dispatch_index == dispatch_index),
                "not its dispatch index in the dispatch order",
            ),
            Cover(strange & ~mapped & none, "in a region, but of another context"),
            Cover(strange & mapped & ~none, "in a stranger's region and in an own one"),
            Cover(mapped & ~known, "mapped, but an unknown workgroup"),
            Cover(location.valid & none, "mapped, but in no range"),
            Cover(location.valid & (workgroup < first) & ~none, "a dispatch index that wraps"),
        ]
        m.d.comb += [
            Cover(range_.action == action, f"action {action.name}")
            for action in (Action.REMOTE, Action.DMA, Action.OWN)
        ]
        return m


class RangeHarness(Elaboratable):
    """Any location in any tables. What is expected is found entry by entry, the lowest last."""

    def __init__(self, lookup: type = RangeLookup):
        self._lookup = lookup

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._lookup(_P)
        free(m, dut.maps, dut.location)
        location = dut.location
        holders = Signal(_P.ranges)
        action, op, dtype = Signal(Action), Signal(Operation), Signal(Datatype)
        command = Signal(range(_P.commands))
        for index in reversed(range(_P.ranges)):
            entry = dut.maps.ranges[index]
            m.d.comb += holders[index].eq(
                location.valid
                & entry.enable
                & (entry.region == location.region)
                & (location.dispatch_index >= entry.first)
                & (location.dispatch_index <= entry.last)
            )
            with m.If(holders[index]):
                m.d.comb += [action.eq(entry.action), command.eq(entry.command)]
        with m.If(holders.any()), m.Switch(command):
            for index, entry in enumerate(dut.maps.commands):
                with m.Case(index):
                    m.d.comb += [op.eq(entry.op), dtype.eq(entry.dtype)]
        m.d.comb += [
            Assert(holders.any() | (dut.action == Action.NONE), "in no range, but not NONE"),
            Assert(dut.action == action, "not the action of the lowest range that holds it"),
            Assert(dut.command == command, "not the command of that range"),
            Assert(dut.op == op, "not the op of its command"),
            Assert(dut.dtype == dtype, "not the dtype of its command"),
            Cover(holders.all(), "in every range"),
            Cover(location.valid & ~holders.any(), "in no range"),
            Cover(holders[-1] & ~holders[:-1].any() & (dut.command == _P.commands - 1), "the last"),
        ]
        return m


PROOFS = (
    Proof(
        name="address-map",
        statement="An access outside every enabled region, of another context than its region's, "
        "or of a workgroup that the launch does not have gets action NONE; region and, "
        "in a dispatch order that can be, dispatch_index are those of the specification",
        blocks=(LocationLookup, RangeLookup),
        harness=MapHarness,
        geometry="the reference's, any tables",
        depth=1,
        cover_depth=1,
        solver="z3",
    ),
    Proof(
        name="range-lookup",
        statement="A location in no range gets action NONE; any other the action, command, op and "
        "dtype of the lowest range that holds it",
        blocks=(RangeLookup,),
        harness=RangeHarness,
        geometry="the reference's, any tables",
        depth=1,
        cover_depth=1,
    ),
)
