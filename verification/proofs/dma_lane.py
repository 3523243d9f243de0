"""Proof of the DMA lane: each atom of a segment is read once and sent once, in order."""

from types import SimpleNamespace

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from rtl.dma.lane import DmaLane
from rtl.interface.encodings import Access, Origin, PacketKind
from rtl.interface.layouts import Packet
from rtl.parameters import T3Parameters

from .dma_lane_inside import Queues, assert_inside
from .held import held
from .invariant import invariant
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_P = T3Parameters(
    system_channels=1,
    interleave_atoms=4,
    atom_bytes=8,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=9,
    workgroup_bits=2,
    wavefronts=4,
    context_bits=1,
    tag_bits=1,
    sets=1,
    egress_slots=4,
    contexts=2,
    with_data=True,
)
_MOST_STILL = 1  # most cycles from an input to the next output


class DmaLaneHarness(Elaboratable):
    """Harness that observes one arbitrary atom of one arbitrary segment.

    Assumptions: a segment has at least one atom and lies within a granule, as the engine makes it,
    and is not of kind END, which has no read;
    the DRAM returns each read once, in any order, and no other data. The upper bits of a returned
    slot, which hold the context, are arbitrary.
    """

    def __init__(self, lane: type = DmaLane):
        self._lane = lane

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._lane(_P)
        queues = Queues(
            held(m, dut.segments_queue, "segments"),
            held(m, dut.reads_queue, "reads"),
        )
        free(m, dut.segments.valid, dut.segments.p, dut.reads.ready, dut.sends.ready)
        free(m, dut.returns.valid, dut.returns.p)
        assert_held(m, dut.reads, "reads")
        assert_held(m, dut.sends, "sends")

        ghost = self._ghosts(m, dut)
        self._assert_contract(m, dut, ghost)
        self._assert_progress(m, dut, ghost)
        assert_inside(m, _P, dut, queues, ghost)
        return m

    def _ghosts(self, m: Module, dut: DmaLane) -> SimpleNamespace:
        """Count the atoms to be read and to be sent, and the place of the observed one."""
        segment = dut.segments.p
        ghost = SimpleNamespace(
            to_read=Signal(6, name="to_read"),
            to_send=Signal(6, name="to_send"),
            asked=Signal(_P.egress_slots, name="asked"),  # outstanding reads
            follows=Signal(name="follows"),
            segment=Signal.like(segment, name="followed_segment"),
            index=Signal.like(segment.length, name="followed_index"),
            segments_ahead=Signal(range(6), name="segments_ahead"),
            reads_ahead=Signal(6, name="reads_ahead"),
            sends_ahead=Signal(6, name="sends_ahead"),
            read=Signal(name="followed_is_read"),
            slot=Signal(_P.slot_bits, name="followed_slot"),
            returned=Signal(name="followed_is_returned"),
            packet=Signal(Packet(_P), name="followed_packet"),
        )
        comes, reads, sends = moves(dut.segments), moves(dut.reads), moves(dut.sends)
        returns = dut.returns.valid
        slot = dut.returns.p.slot[: _P.slot_bits]
        low = segment.atom[: (_P.interleave_atoms - 1).bit_length()]
        m.d.comb += [
            ghost.index.eq(AnyConst(len(ghost.index))),
            Assume(~dut.segments.valid | (segment.length != 0)),
            Assume(~dut.segments.valid | (segment.kind != PacketKind.END)),
            Assume(~dut.segments.valid | (low + segment.length <= _P.interleave_atoms)),
            Assume(~returns | ghost.asked.bit_select(slot, 1)),
        ]
        m.d.sync += [
            ghost.to_read.eq(ghost.to_read + Mux(comes, segment.length, 0) - reads),
            ghost.to_send.eq(ghost.to_send + Mux(comes, segment.length, 0) - sends),
            ghost.asked.eq(
                (ghost.asked | (reads << dut.reads.p.tag[: _P.slot_bits])) & ~(returns << slot)
            ),
        ]

        followed = ghost.segment
        wave = (followed.offset + ghost.index) >> followed.wave_inner_log2
        m.d.comb += [ghost.packet[name].eq(followed[name]) for name in _AS_IN_SEGMENT]
        m.d.comb += [
            ghost.packet.atom.eq(followed.atom + ghost.index + followed.atom_offset),
            ghost.packet.wavefront.eq(followed.wavefront + wave),
        ]
        data = Signal.like(dut.returns.p.data, name="followed_data")
        m.d.comb += ghost.packet.data.eq(data)
        leaves = moves(dut.segments_queue.o)  # the segment is expanded
        with m.If(~ghost.follows):
            with m.If(AnySeq(1) & comes & (ghost.index < segment.length)):
                m.d.sync += [
                    ghost.follows.eq(1),
                    ghost.segment.eq(segment),
                    ghost.segments_ahead.eq(dut.segments_queue.level - leaves),
                    ghost.reads_ahead.eq(ghost.to_read - reads + ghost.index),
                    ghost.sends_ahead.eq(ghost.to_send - sends + ghost.index),
                    ghost.read.eq(0),
                    ghost.returned.eq(0),
                ]
        with m.Else():
            with m.If(leaves):
                m.d.sync += ghost.segments_ahead.eq(ghost.segments_ahead - 1)
            with m.If(reads):
                m.d.sync += ghost.reads_ahead.eq(ghost.reads_ahead - 1)
                with m.If(~ghost.read & (ghost.reads_ahead == 0)):
                    m.d.sync += [ghost.read.eq(1), ghost.slot.eq(dut.reads.p.tag)]
            with m.If(ghost.read & ~ghost.returned & returns & (slot == ghost.slot)):
                m.d.sync += [ghost.returned.eq(1), data.eq(dut.returns.p.data)]
            with m.If(sends):
                m.d.sync += [
                    ghost.sends_ahead.eq(ghost.sends_ahead - 1),
                    ghost.follows.eq(ghost.sends_ahead != 0),
                ]
        return ghost

    def _assert_contract(self, m: Module, dut: DmaLane, ghost) -> None:
        read, packet = dut.reads.p, dut.sends.p
        read_now = dut.reads.valid & ghost.follows & ~ghost.read & (ghost.reads_ahead == 0)
        sent_now = Signal()
        m.d.comb += [
            sent_now.eq(dut.sends.valid & ghost.follows & (ghost.sends_ahead == 0)),
            Assert(~dut.reads.valid | (ghost.to_read != 0), "a read without an atom"),
            Assert(~dut.sends.valid | (ghost.to_send != 0), "a packet without an atom"),
            Assert(
                ~dut.reads.valid
                | ((read.access == Access.READ) & (read.origin == Origin.COMMUNICATION)),
                "not a read of the communication stream",
            ),
            Assert(
                ~dut.reads.valid | ~ghost.asked.bit_select(read.tag[: _P.slot_bits], 1),
                "a slot is read twice",
            ),
            Assert(
                ~read_now | (read.atom == (ghost.segment.atom + ghost.index)[: len(read.atom)]),
                "an atom is not read, or out of order",
            ),
            Assert(~sent_now | ghost.returned, "a packet is sent before its data has returned"),
            Assert(~sent_now | (packet == ghost.packet), "a packet is wrong or out of order"),
            Assert(dut.idle == (ghost.to_send == 0), "idle: differs from nothing to send"),
            Cover(sent_now & moves(dut.sends) & (ghost.index == 2), "the third atom is sent"),
            Cover(~dut.segments.ready, "no space for a segment"),
            Cover(ghost.asked.all(), "all slots are read"),
            Cover(
                ghost.follows & ghost.returned & (ghost.asked.any()) & (ghost.sends_ahead == 2),
                "data returns before that of earlier atoms",
            ),
        ]

    def _assert_progress(self, m: Module, dut: DmaLane, ghost) -> None:
        """Assert progress: with both sinks ready and all data returned, a payload leaves soon."""
        still = Signal(range(_MOST_STILL + 2))
        offers = dut.reads.valid | dut.sends.valid
        open_ = dut.reads.ready & dut.sends.ready & ~ghost.asked.any() & (ghost.to_send != 0)
        with m.If(open_ & ~offers):
            m.d.sync += still.eq(still + 1)
        with m.Else():
            m.d.sync += still.eq(0)
        m.d.comb += [
            Assert(still <= _MOST_STILL, "atoms wait without reason"),
            Cover(still == _MOST_STILL, "a cycle between a return and its packet"),
            invariant((still == 0) | offers, "no payload leaves"),
        ]


_AS_IN_SEGMENT = ("kind", "peers", "generation", "slot", "op", "dtype")

PROOFS = (
    Proof(
        name="dma-lane",
        statement="Each atom of a segment, but for END packets, is read once into a slot of its "
        "own and sent once, with its data and the right packet fields, in the order of segments "
        "and atoms; there is no read without a segment, and no packet before its data has "
        "returned; while atoms are to be sent and no read is outstanding, a read or a packet "
        "leaves within 2 cycles",
        blocks=(DmaLane,),
        harness=DmaLaneHarness,
        geometry="4 egress slots, segments of up to 4 atoms, atoms of 8 bytes, addresses of 6 bits",
        reason="slots and addresses are only incremented, so larger numbers have no other cases",
        depth=2,
        cover_depth=16,
        slow=True,
    ),
)
