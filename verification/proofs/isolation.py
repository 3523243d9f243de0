"""Proof of isolation in the top with two contexts: effects of a context come from its inputs."""

import gc
import warnings
from dataclasses import dataclass

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.channel.channel import Channel
from rtl.channel.issue_ack_buffer import IssueAckBuffer
from rtl.interface.configuration import PeerEntry, RegionEntry
from rtl.interface.encodings import Access, Origin, PacketKind
from rtl.parameters import T3Parameters
from rtl.top import T3

from .any_block import AnyBlock
from .isolation_inside import is_tracked, relate
from .proof import Proof
from .streams import free, moves

__all__ = ["PROOFS"]

_P = T3Parameters(
    system_channels=1,
    interleave_atoms=2,
    share_bits=2,
    address_bits=11,
    workgroup_bits=2,
    wavefronts=2,
    tile_atom_bits=2,
    context_bits=2,
    contexts=2,
    peers=2,
    tag_bits=1,
    regions=1,
    ranges=1,
    commands=1,
    sets=2,
    ways=2,
    credit_window=2,
    command_depth=2,
    dma_walkers=1,
    egress_slots=2,
    remote_depth=9,
)
_BUFFER = 2  # depth of the issue acknowledgement buffer


@dataclass(frozen=True)
class Marks:
    """Marks that distinguish the traffic of the contexts.

    Attributes
    ----------
    came : list of Signal
        For each context: a store, a packet or a segment of it has arrived.
    changed : list of Signal
        For each context: its tables have changed. Packets of any context that came before it may be
        waited for.
    peers : list
        Peers of each context.
    regions : list
        Regions of each context.
    since_reset : Signal
        Cycles since the reset, during which all sets are cleared.
    """

    came: list
    changed: list
    peers: list
    regions: list
    since_reset: Signal

    def has_come(self, owner: Value) -> Value:
        return Cat(self.came).bit_select(owner, 1)

    def is_sent_to_peer(self, owner: Value, packet) -> Value:
        """Signal that a packet goes to the GPU and the address space of an enabled peer of its
        owner that may get its kind."""
        return Cat(
            (owner == number)
            & (packet.destination == peer.gpu)
            & (packet.context == peer.space)
            & _permits(packet, peer.enable, peer.sends_stores, peer.sends_updates)
            for number, peers in enumerate(self.peers)
            for peer in peers
        ).any()

    def comes_from_peer(self, owner: Value, packet) -> Value:
        """Signal that a packet has the rank of an enabled peer of its owner that may send its
        kind."""
        return Cat(
            (owner == number)
            & (packet.source == peer.rank)
            & _permits(packet, peer.enable, peer.takes_stores, peer.takes_updates)
            for number, peers in enumerate(self.peers)
            for peer in peers
        ).any()

    def holds(self, owner: Value, atom: Value, length: Value | int = 1) -> Value:
        """Signal that a region of the owner contains all these atoms."""
        return Cat(
            (owner == number)
            & region.enable
            & (region.base <= atom)
            & (atom + length <= region.limit)
            for number, regions in enumerate(self.regions)
            for region in regions
        ).any()


def _permits(packet, enable: Value, stores: Value, updates: Value) -> Value:
    """Signal that a peer's permissions allow a packet; a marker belongs to stores or to updates."""
    is_update = packet.kind == PacketKind.UPDATE
    is_store = (packet.kind == PacketKind.STORE) | (packet.kind == PacketKind.PLACE)
    return enable & Mux(is_store, stores, Mux(is_update, updates, stores | updates))


class IsolationHarness(Elaboratable):
    """Harness that marks the traffic of each context with fields that no block evaluates.

    The mark is the number of the context: in the wavefront, and for packets on the link in the
    lowest bit of the generation. Every effect carries these fields.

    Blocks with arbitrary outputs stand in for the registers and for the units of the contexts:
    launches, aborts, admissions and tables are arbitrary in both contexts at any time. The address
    spaces, the peers and the regions, which software locks, are arbitrary constants. Links, memory
    and neighbours are arbitrary, too. The memory is assumed to acknowledge only its accesses, and
    no bit errors are injected.
    """

    def __init__(self, top: type = T3, channel: type = Channel):
        self._top = top
        self._channel = channel

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._cut()
        port = dut.channel[0]
        for one in (port.reads, port.stores, port.link_in, port.issue_acks, port.returns):
            free(m, one.valid, one.p)
        free(m, port.link_out.ready, port.link_space, port.dram.ready, port.occupancy)
        registers = dut.registers
        m.d.comb += [Assume(~registers.inject.set), Assume(~registers.scrub)]
        marks = Marks(
            came=[Signal(name=f"came_{number}") for number in range(_P.contexts)],
            changed=[Signal(name=f"changed_{number}") for number in range(_P.contexts)],
            peers=[
                [Signal(PeerEntry(_P), name=f"peer_{n}_{i}") for i in range(_P.peers)]
                for n in range(_P.contexts)
            ],
            regions=[
                [Signal(RegionEntry(_P), name=f"region_{n}_{i}") for i in range(_P.regions)]
                for n in range(_P.contexts)
            ],
            since_reset=Signal(range(_P.sets + 1)),
        )
        with m.If(marks.since_reset != _P.sets):
            m.d.sync += marks.since_reset.eq(marks.since_reset + 1)
        spaces = [self._fix(m, dut, marks, number) for number in range(_P.contexts)]
        m.d.comb += Assume(spaces[0].local != spaces[1].local)
        self._mark(m, dut, port, marks, spaces)
        self._assert_memory(m, port, marks)
        self._assert_link(m, port, marks)
        self._assert_packets(m, dut.channels[0].queues, marks)
        for number in range(_P.contexts):
            self._assert_context(m, dut, marks, number)
            self._assert_delivery(m, dut, port, number)
        self._assert_arbitration(m, dut)
        gpu = dut.registers.error
        m.d.comb += [
            Assert(~gpu.valid | gpu.report.unowned, "an error of a context is reported as global"),
            Cover(gpu.valid, "an unowned packet"),
        ]
        relate(m, dut, marks)
        return m

    def _cut(self):
        """Make the top with stand-ins for registers and units."""
        with warnings.catch_warnings():
            # The replaced blocks stay unused.
            warnings.simplefilter("ignore")
            dut, channel = self._top(_P), self._channel(_P)
            dut.registers = AnyBlock(dut.registers)
            dut.contexts = [AnyBlock(unit) for unit in dut.contexts]
            dut.channels = [channel]
            channel.issue_ack_buffer = IssueAckBuffer(_P, depth=_BUFFER)
            gc.collect()
        return dut

    def _fix(self, m: Module, dut, marks: Marks, number: int):
        """Fix address space, peers and regions of a context to arbitrary constants."""
        view = dut.contexts[number].view
        space = Signal.like(view.address_space, name=f"address_space_{number}")
        m.d.comb += [
            space.as_value().eq(AnyConst(len(space.as_value()))),
            Assume(view.address_space == space),
        ]
        for entries, fixed in (
            (view.maps.regions, marks.regions[number]),
            (view.peers, marks.peers[number]),
        ):
            for entry, one in zip(entries, fixed, strict=True):
                m.d.comb += [one.as_value().eq(AnyConst(len(one.as_value()))), Assume(entry == one)]
        return space

    def _mark(self, m: Module, dut, port, marks: Marks, spaces: list) -> None:
        """Assume that all inputs of each context carry its mark."""
        comes = [Signal(name=f"comes_{number}") for number in range(_P.contexts)]
        for number, (came, unit) in enumerate(zip(marks.came, dut.contexts, strict=True)):
            changed, changes = marks.changed[number], unit.view.changes
            m.d.sync += [came.eq(came | comes[number]), changed.eq(changed | changes)]
            sources = [(unit.segments[0].valid, unit.segments[0].p, 0)]
            for one in (port.stores, port.link_in):
                mine = spaces[number].enable & (spaces[number].local == one.p.context)
                sources.append((one.valid & mine, one.p, 1))
            for valid, payload, has_wavefront in sources:
                marked = payload.generation[0] == number
                if has_wavefront:
                    marked &= payload.wavefront == number
                m.d.comb += Assume(~valid | marked)
            m.d.comb += comes[number].eq(Cat(valid for valid, *_ in sources).any())
            segment = unit.segments[0].p
            within = segment.atom[0] + segment.length <= _P.interleave_atoms
            is_end = segment.kind == PacketKind.END
            m.d.comb += [
                # Properties of segments that the proof dma-engine shows.
                Assume(
                    ~unit.segments[0].valid
                    | (within & (segment.length != 0))
                    & (is_end | marks.holds(Const(number, 1), segment.atom, segment.length))
                ),
                # A unit without any input is idle.
                Assume(came | (unit.own_idle & unit.dma_idle)),
            ]
            for error in unit.errors:
                report = error.report
                m.d.comb += Assume(
                    (report.owner == number) & ~report.unowned & (report.wavefront == number)
                )
        ack = port.issue_acks
        m.d.comb += [
            Assume(~ack.valid | marks.has_come(ack.p.owner)),
            Assume(~ack.valid | ~is_tracked(ack.p) | (ack.p.wavefront == ack.p.owner)),
        ]

    def _assert_memory(self, m: Module, port, marks: Marks) -> None:
        """Assert that a context reads, writes and updates through T3 only within its regions."""
        request = port.dram.p
        updates = port.dram.valid & is_tracked(request)
        communicates = port.dram.valid & (request.origin == Origin.COMMUNICATION)
        reads = communicates & (request.access == Access.READ)
        owner, mine = request.owner, Signal()
        m.d.comb += [
            mine.eq(marks.holds(owner, request.atom) & marks.has_come(owner)),
            Assert(~updates | (request.wavefront == owner), "an update of another context"),
            Assert(~(updates | communicates) | mine, "an access outside the context's regions"),
            Assert(
                ~reads | (request.tag[_P.slot_bits : _P.egress_bits] == owner),
                "a read into the slot of another context",
            ),
        ]
        for number in range(_P.contexts):
            other = marks.came[1 - number]
            m.d.comb += [
                Cover(updates & (owner == number) & other, f"{number}: an update"),
                Cover(reads & (owner == number), f"{number}: a read"),
            ]

    def _assert_link(self, m: Module, port, marks: Marks) -> None:
        sent, owner = port.link_out, port.link_owner
        m.d.comb += [
            Assert(~sent.valid | (sent.p.generation[0] == owner), "a packet of another context"),
            Assert(
                ~sent.valid | marks.is_sent_to_peer(owner, sent.p),
                "a packet to no peer that may get it",
            ),
            Assert(~sent.valid | marks.has_come(owner), "a packet without an input"),
        ]
        for number in range(_P.contexts):
            m.d.comb += Cover(
                moves(sent) & (owner == number) & marks.came[1 - number], f"{number}: a packet"
            )

    def _assert_packets(self, m: Module, queues, marks: Marks) -> None:
        """Assert that updates, writes and markers of packets come from peers only."""
        packet = queues.inbound.o
        owner, kind = packet.p.location.owner, packet.p.kind
        accepted = moves(packet) & ~queues.updates.drop
        m.d.comb += [
            Assert(queues.updates.drop == queues.ends.drop, "a packet is partly dropped"),
            Assert(
                ~accepted | marks.comes_from_peer(owner, packet.p),
                "a packet from no peer that may send it",
            ),
        ]
        for number in range(_P.contexts):
            m.d.comb += [
                Cover(accepted & (owner == number) & (kind == one), f"{number}: {one.name} arrives")
                for one in PacketKind
            ]

    def _assert_context(self, m: Module, dut, marks: Marks, number: int) -> None:
        """Assert the inputs of a context's unit and registers."""
        unit, registers = dut.contexts[number], dut.registers.context[number]
        complete, error, came = unit.completions, registers.error, marks.came[number]
        idle, clearing = dut.context[number].idle, dut.tracker.clearing[number]
        works, waits = came | marks.changed[number], unit.view.changes
        failed, begun, owed = (
            Signal(name=f"{name}_{number}") for name in ("failed", "begun", "owed")
        )
        cleared = marks.since_reset == _P.sets
        m.d.sync += [
            begun.eq(cleared),
            # No context is idle while the memory owes something from before the reset.
            owed.eq(dut.channels[0].monitor.stale),
            failed.eq(Cat(error.valid for error in unit.errors).any()),
        ]
        m.d.comb += [
            Assert(
                ~complete.valid | ((complete.p.wavefront == number) & came),
                f"{number}: a completion of another context",
            ),
            Assert(
                ~error.valid | (error.report.wavefront == number) & ~error.report.unowned,
                f"{number}: an error of another context",
            ),
            Assert(~error.valid | came | failed, f"{number}: an error without an input"),
            Assert(came | ~clearing | ~cleared, f"{number}: clearing without an input"),
            Assert(
                registers.abort | ~dut.tracker.clear[number],
                f"{number}: tiles are cleared without an abort",
            ),
            Assert(
                works | waits | clearing | unit.stores_drained,
                f"{number}: not drained without an input",
            ),
            Assert(works | ~begun | owed | idle, f"{number}: not idle without an input"),
            Assert(came | ~begun | registers.dma_idle, f"{number}: DMA busy without an input"),
            Assert(
                came | dut.channel[0].store_space[number], f"{number}: no space without an input"
            ),
            Assert(
                unit.sends
                == moves(dut.channel[0].link_out) & (dut.channel[0].link_owner == number),
                f"{number}: a packet of another context counts",
            ),
            Cover(moves(complete), f"{number}: a complete tile"),
            Cover(error.valid & ~failed, f"{number}: an error"),
            Cover(idle & begun & ~owed, f"{number}: idle after the reset"),
            Cover(came & ~idle & dut.context[1 - number].idle, f"{number}: the only busy context"),
        ]

    def _assert_delivery(self, m: Module, dut, port, number: int) -> None:
        """Assert that completions and read data reach their context, whatever the other one
        does."""
        complete, unit = dut.tracker.o, dut.contexts[number]
        lane = dut.channels[0].lanes[number]
        own, returned = complete.p.owner == number, Signal(name=f"returned_{number}")
        slot = port.returns.p.slot
        m.d.comb += [
            returned.eq(port.returns.valid & (slot[_P.slot_bits : _P.egress_bits] == number)),
            Assert(
                unit.completions.valid == (complete.valid & own), f"{number}: a completion is lost"
            ),
            Assert(
                ~own | (complete.ready == unit.completions.ready),
                f"{number}: a completion waits for another context, or is dropped",
            ),
            # Data of reads from before a reset are dropped.
            Assert(
                lane.returns.valid == (returned & ~dut.channels[0].monitor.stale),
                f"{number}: read data of another context",
            ),
            Assert(lane.aborting == unit.view.aborting, f"{number}: an abort of another context"),
            Cover(lane.returns.valid, f"{number}: read data"),
        ]

    def _assert_arbitration(self, m: Module, dut) -> None:
        """Assert that the arbiters' hints come from all contexts."""
        channel, units = dut.channels[0], dut.contexts
        active = Cat(unit.active for unit in units)
        hurried = Cat(unit.active & ~unit.relaxed for unit in units)
        m.d.comb += [
            Assert(channel.active == active.any(), "active: not of all contexts"),
            Assert(
                channel.relaxed == (active.any() & ~hurried.any()), "relaxed: not of all contexts"
            ),
            *(
                Assert(
                    getattr(channel, name) == Cat(getattr(unit, name) for unit in units).any(),
                    f"{name}: not of all contexts",
                )
                for name in ("critical", "congested")
            ),
        ]


PROOFS = (
    Proof(
        name="isolation",
        statement="Every update, end-of-tile marker, read, packet, completed tile and reported "
        "error of a context results from stores, packets and segments of that context; its reads, "
        "updates and writes through T3 lie in its regions, and its read data returns to it; its "
        "packets go only to the GPU and the address space of an enabled peer of the context that "
        "may get their kind, and its updates, writes and markers of packets come only from the "
        "rank of an enabled peer of the context that may send their kind; a context without any "
        "input is idle as soon as the memory owes nothing from before the reset, and none of its "
        "tiles is cleared",
        blocks=(T3, Channel),
        harness=IsolationHarness,
        geometry="2 contexts, 1 channel, 1 bank of 2 sets of 2 entries, 4 workgroups, 2 "
        "wavefronts, addresses of 3 bits, 1 region, 2 peers, 2 waiting issue acknowledgements; "
        "arbitrary constant regions, peers and address spaces; arbitrary outputs of registers and "
        "units",
        reason="payloads are only moved, and each context has registers and a unit of its own "
        "(registers, trigger, credit-window, dma-engine)",
        depth=1,
        cover_depth=14,
        timeout_s=900,
        slow=True,
    ),
)
