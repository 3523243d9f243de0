"""Proof of the channel: a store outside all ranges (a stranger) has no effect but its write."""

from dataclasses import replace

from amaranth.asserts import AnyConst
from amaranth.hdl import (
    Assert,
    Assume,
    Cat,
    Const,
    Cover,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
)

from rtl.channel.channel import Channel
from rtl.interface.encodings import Access, Action, Origin, PacketKind, StoreKind, Target
from rtl.parameters import T3Parameters

from .held import held, held_in_memory
from .invariant import invariant
from .proof import Proof
from .streams import free, moves

__all__ = ["PARAMETERS", "PARAMETERS_OF_TWO", "PROOFS", "constant", "free_ports"]

PARAMETERS = T3Parameters(
    contexts=1,
    system_channels=1,
    interleave_atoms=2,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=11,
    workgroup_bits=2,
    wavefronts=2,
    context_bits=1,
    peers=2,
    tag_bits=1,
    regions=2,
    ranges=2,
    commands=2,
    sets=1,
    egress_slots=2,
)
PARAMETERS_OF_TWO = replace(PARAMETERS, contexts=2, remote_depth=9)
_STRANGER = 1  # wavefront


def free_ports(m: Module, dut: Channel) -> None:
    """Free all inputs except configuration, segments, and the ready inputs of DRAM and link."""
    for one in (dut.reads, dut.stores, dut.link_in, dut.issue_acks, dut.returns):
        free(m, one.valid, one.p)
    free(m, dut.tile_issue_acks.ready, dut.end_of_tile_markers.ready, dut.occupancy, dut.start)
    free(m, dut.link_space, dut.active, dut.relaxed, dut.critical, dut.congested)


def constant(m: Module, *inputs) -> None:
    """Give inputs arbitrary constant values."""
    for one in map(Value.cast, inputs):
        m.d.comb += one.eq(AnyConst(len(one)))


class StrangerHarness(Elaboratable):
    """Harness that marks strangers by their wavefront, which lookups ignore and effects carry.

    A stranger is a store or a packet outside every region of its context, or of a dispatch index in
    no range; the harness decides this with integers, entry by entry. The tables and the launch are
    arbitrary constants. The DMA engine is idle, so all packets that leave over the link come from
    stores.
    """

    def __init__(self, channel: type = Channel):
        self._channel = channel

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._channel(PARAMETERS)
        free_ports(m, dut)
        free(m, dut.dram.ready, dut.link_out.ready, dut.arbiter)
        (view,) = dut.contexts
        free(m, view.oldest, view.credit_limit, view.launched, view.former, view.inbound)
        free(m, view.peers, view.rank, view.changes)
        constant(m, view.address_space, view.maps, view.wavefronts, view.launch_configuration)
        constant(m, view.slots)
        m.d.comb += dut.segments[0].valid.eq(0)

        store, packet = dut.stores, dut.link_in
        known_store = self._known(m, dut, store.p, store.p.dispatch_index)
        known_packet = self._known(m, dut, packet.p, packet.p.slot)
        m.d.comb += [
            Assume(~store.valid | (store.p.wavefront != _STRANGER) | ~known_store),
            Assume(
                ~packet.valid
                | (packet.p.wavefront != _STRANGER)
                | (_is_counted(packet.p) & ~known_packet)
                | (_is_end(packet.p) & ~self._known_marker(m, dut))
            ),
        ]
        request, sent, end = dut.dram, dut.link_out, dut.end_of_tile_markers
        updates = request.valid & _is_tracked(request.p)
        local = updates & (request.p.origin == Origin.COMPUTE)
        strange = Signal()
        m.d.comb += [
            strange.eq(moves(store) & (store.p.wavefront == _STRANGER)),
            Assert(~local | (request.p.wavefront != _STRANGER), "a stranger becomes an update"),
            Assert(
                ~(updates & ~local) | (request.p.wavefront != _STRANGER),
                "a stranger's packet becomes an update",
            ),
            Assert(
                ~sent.valid | (sent.p.wavefront != _STRANGER), "a stranger becomes a remote update"
            ),
            Assert(
                ~end.valid | (end.p.wavefront != _STRANGER),
                "a stranger becomes an end-of-tile marker",
            ),
            Cover(local, "an update"),
            Cover(updates & ~local, "an update of a packet"),
            Cover(request.valid & (request.p.access == Access.PLACE), "a tracked store"),
            Cover(sent.valid & (sent.p.kind == PacketKind.UPDATE), "a remote update"),
            Cover(end.valid, "an end-of-tile marker"),
            Cover(moves(packet) & (packet.p.wavefront == _STRANGER), "a stranger's packet"),
            Cover(
                moves(packet) & (packet.p.wavefront == _STRANGER) & _is_end(packet.p),
                "a stranger's marker",
            ),
            Cover(moves(dut.queues.ends.packets) & ~dut.queues.ends.drop, "a packet's marker"),
        ]
        self._cover_strangers(m, dut, strange)
        self._invariants(m, dut)
        return m

    def _known(self, m: Module, dut: Channel, access, dispatch_index: Value) -> Signal:
        """Signal that a range of the access's region holds its dispatch index."""
        (view,) = dut.contexts
        maps, space = view.maps, view.address_space
        dispatched = dispatch_index < view.slots
        mapped, region = Signal(), Signal(range(PARAMETERS.regions))
        for index in reversed(range(PARAMETERS.regions)):
            entry = maps.regions[index]
            within = entry.enable & (entry.base <= access.atom) & (access.atom < entry.limit)
            with m.If(within & space.enable & (space.local == access.context)):
                m.d.comb += [mapped.eq(1), region.eq(index)]
        known = Signal()
        for entry in maps.ranges:
            holds = entry.enable & (entry.first <= dispatch_index) & (dispatch_index <= entry.last)
            with m.If(mapped & dispatched & (entry.region == region) & holds):
                m.d.comb += known.eq(1)
        return known

    def _known_marker(self, m: Module, dut: Channel) -> Value:
        """Signal that a range with tracked tiles, of any region, holds a packet's marker."""
        (view,), packet = dut.contexts, dut.link_in.p
        space = view.address_space
        owned = space.enable & (space.local == packet.context)
        dispatched = packet.slot < view.slots
        tracked = [
            entry.enable
            & _tracks(entry)
            & (entry.first <= packet.slot)
            & (packet.slot <= entry.last)
            for entry in view.maps.ranges
        ]
        return owned & dispatched & Cat(tracked).any()

    def _cover_strangers(self, m: Module, dut: Channel, strange: Signal) -> None:
        """Cover a stranger in another context's region, and the write of its store."""
        atom, wanted = Signal.like(dut.stores.p.atom), Signal()
        (view,) = dut.contexts
        region = view.maps.regions[0]
        in_region = (
            region.enable
            & (region.base <= dut.stores.p.atom)
            & (dut.stores.p.atom < region.limit)
            & (view.address_space.local != dut.stores.p.context)
        )
        with m.If(strange & in_region & (dut.stores.p.kind == StoreKind.STORE)):
            m.d.sync += [atom.eq(dut.stores.p.atom), wanted.eq(1)]
        request = dut.dram
        m.d.comb += [
            Cover(strange & in_region, "a stranger in a region, but of another address space"),
            Cover(
                wanted
                & request.valid
                & (request.p.access == Access.WRITE)
                & (request.p.origin == Origin.COMPUTE)
                & (request.p.atom == atom),
                "the store of a stranger is written",
            ),
        ]

    def _invariants(self, m: Module, dut: Channel) -> None:
        """Assert that no queue holds an effect of a stranger and that the lane is empty."""
        for name, field in (("stores", "dispatch_index"), ("inbound", "slot")):
            for index, (entry, valid) in enumerate(_entries(m, dut, name)):
                location, dispatch_index = entry.location, entry[field]
                is_end = _is_end(entry) if name == "inbound" else Const(0)
                hits = [
                    location.valid
                    & one.enable
                    & Mux(
                        is_end,
                        _tracks(one),
                        one.region == location.region,
                    )
                    & (one.first <= dispatch_index)
                    & (dispatch_index <= one.last)
                    for one in dut.contexts[0].maps.ranges
                ]
                stranger = valid & (entry.wavefront == _STRANGER)
                m.d.comb += [
                    invariant(~stranger | ~hit, f"{name} {index}: a stranger in a range")
                    for hit in hits
                ]
                if name == "inbound":
                    m.d.comb += invariant(
                        ~stranger | (entry.kind != PacketKind.STORE),
                        f"{name} {index}: a stranger's store",
                    )
        effects = {
            "classified": lambda entry: entry.target != Target.WRITE,
            "writes": _is_tracked,
            "updates": _is_tracked,
            "issue": _is_tracked,
            "ends": lambda entry: 1,
        }
        held_here = {
            name: [(entry, valid & effect(entry)) for entry, valid in _entries(m, dut, name)]
            for name, effect in effects.items()
        }
        held_here["link"] = [(entry.packet, valid) for entry, valid in _entries(m, dut, "link")]
        (remote,), (lane,) = dut.remote, dut.lanes
        held_here["remote"] = held_in_memory(m, remote, "remote")
        for name, entries in held_here.items():
            for index, (entry, affects) in enumerate(entries):
                m.d.comb += invariant(
                    ~affects | (entry.wavefront != _STRANGER),
                    f"{name} {index}: an effect of a stranger",
                )
        m.d.comb += [
            invariant(lane.segments_queue.level == 0, "a segment in the lane"),
            invariant(lane.used == 0, "an atom in the lane"),
            invariant(lane.reads_queue.level == 0, "a read in the lane"),
            invariant(~lane.sends.valid, "a packet in the lane"),
        ]


def _tracks(entry) -> Value:
    """Signal that a range's tiles are tracked: they are updated here, or arrive while its stores
    leave."""
    arrives = (entry.action == Action.REMOTE) & (entry.shares != 0)
    return (entry.action == Action.DMA) | (entry.action == Action.OWN) | arrives


def _is_end(packet) -> Value:
    """Signal that a packet is an end-of-tile marker."""
    return packet.kind == PacketKind.END


def _is_counted(packet) -> Value:
    """Signal that a packet is an update or a tracked store."""
    return (packet.kind == PacketKind.UPDATE) | (packet.kind == PacketKind.PLACE)


def _is_tracked(request) -> Value:
    """Signal that the tracker counts an access."""
    return (request.access == Access.UPDATE) | (request.access == Access.PLACE)


def _entries(m: Module, dut: Channel, name: str) -> list:
    queue = dut.queues.ends.queue if name == "ends" else getattr(dut.queues, name)
    contents = held(m, queue, name)
    return [(entry, contents.has(index)) for index, entry in enumerate(contents.entries)]


PROOFS = (
    Proof(
        name="channel-strangers",
        statement="A store outside every range, or of an address space other than the context's, "
        "never becomes an update, a remote update or an end-of-tile marker; a packet outside every "
        "range never becomes an update or a marker",
        blocks=(Channel,),
        harness=StrangerHarness,
        geometry="2 regions, 2 ranges, 2 commands, 4 workgroups, addresses of 6 bits, constant "
        "tables, no DMA commands",
        reason="the lookups are proven with the reference's geometry (address-map, range-lookup), "
        "and queues carry any payload",
        depth=1,
        cover_depth=10,
        slow=True,
    ),
)
