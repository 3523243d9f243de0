"""Invariants of the DMA lane: the places of its atoms, for the induction."""

from dataclasses import dataclass
from types import SimpleNamespace

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from rtl.dma.lane import DmaLane
from rtl.interface.encodings import PacketKind
from rtl.parameters import T3Parameters

from .held import QueueContents
from .invariant import invariant

__all__ = ["Queues", "assert_inside"]


@dataclass(frozen=True)
class Queues:
    """Contents of the lane's queues."""

    segments: QueueContents
    reads: QueueContents


def assert_inside(
    m: Module, p: T3Parameters, dut: DmaLane, queues: Queues, ghost: SimpleNamespace
) -> None:
    """Relate queues and slots to the atoms that the harness counts and observes."""
    before = _assert_counts(m, p, dut, queues, ghost)
    _assert_slots(m, p, dut, queues, ghost)
    _assert_followed(m, p, dut, queues, ghost, before)


def _assert_counts(m: Module, p: T3Parameters, dut: DmaLane, queues: Queues, ghost) -> list[Value]:
    """Relate the atoms to be read and sent to the queues and slots.

    Returns
    -------
    list
        Number of atoms before each segment.
    """
    segments = queues.segments
    low_bits = (p.interleave_atoms - 1).bit_length()
    before = Const(0, 6)
    atoms_before: list[Value] = []
    for index, segment in enumerate(segments.entries):
        atoms_before.append(before)
        through = Signal(6, name=f"atoms_to_{index}")
        m.d.comb += [
            through.eq(before + Mux(segments.has(index), segment.length, 0)),
            invariant(
                ~segments.has(index)
                | (
                    (segment.length != 0)
                    & (segment.kind != PacketKind.END)
                    & (segment.atom[:low_bits] + segment.length <= p.interleave_atoms)
                ),
                f"segment {index}: invalid",
            ),
        ]
        before = through
    m.d.comb += [
        invariant(
            Mux(segments.has(0), dut.index < segments.entries[0].length, dut.index == 0),
            "index out of range",
        ),
        invariant(before - dut.index + queues.reads.level == ghost.to_read, "to read"),
        invariant(before - dut.index + dut.used + dut.sends.valid == ghost.to_send, "to send"),
    ]
    return atoms_before


def _assert_slots(m: Module, p: T3Parameters, dut: DmaLane, queues: Queues, ghost) -> None:
    """Assert that each used slot is to be read, outstanding or filled."""
    used, waiting = dut.used, queues.reads.level
    m.d.comb += [
        invariant(used <= p.egress_slots, "too many used slots"),
        invariant((dut.head + used - dut.tail)[: p.slot_bits] == 0, "head and tail"),
        invariant(waiting <= used, "a read without a slot"),
        invariant(
            ~dut.held | ((used != 0) & dut.filled.bit_select(dut.head, 1)), "held without data"
        ),
    ]
    for slot in range(p.egress_slots):
        behind = (Const(slot, p.slot_bits) - dut.head)[: p.slot_bits]
        asked, filled = ghost.asked[slot], dut.filled[slot]
        was_read = behind + waiting < used
        m.d.comb += invariant(
            Mux(was_read, asked ^ filled, ~asked & ~filled), f"slot {slot} is in two states"
        )
    for index, read in enumerate(queues.reads.entries):
        expected = (dut.tail - waiting + index)[: p.slot_bits]
        m.d.comb += invariant(
            ~queues.reads.has(index) | (read.slot == expected), f"read {index}: slot"
        )


def _assert_followed(
    m: Module, p: T3Parameters, dut: DmaLane, queues: Queues, ghost, before: list[Value]
) -> None:
    """Relate the observed atom to its place: a segment, a slot, or the output."""
    segments, reads = queues.segments, queues.reads
    sent, used = dut.sends.valid, dut.used
    ahead = ghost.sends_ahead
    with m.If(ghost.follows):
        m.d.comb += [
            invariant(ahead < ghost.to_send, "the observed atom has left"),
            invariant(
                ghost.read | (ghost.reads_ahead < ghost.to_read), "the observed atom was read"
            ),
            invariant(
                ghost.read | (ahead + ghost.to_read == ghost.reads_ahead + ghost.to_send),
                "the orders of reads and packets differ",
            ),
            invariant(
                ghost.read == (ahead + reads.level < sent + used),
                "read out of order",
            ),
            invariant(ghost.read | ~ghost.returned, "returned before the read"),
            invariant(ghost.index < ghost.segment.length, "index beyond the segment"),
        ]
        with m.If(sent & (ahead == 0)):
            m.d.comb += invariant(
                ghost.returned & (dut.sends.p == ghost.packet), "the packet differs"
            )
        _assert_slot(m, p, dut, queues, ghost)
        for index, segment in enumerate(segments.entries):
            with m.If((ahead >= sent + used) & (ghost.segments_ahead == index)):
                m.d.comb += [
                    invariant(
                        segments.has(index) & (segment == ghost.segment),
                        f"segment {index}: differs",
                    ),
                    invariant(
                        ghost.reads_ahead + dut.index == reads.level + before[index] + ghost.index,
                        f"segment {index}: order",
                    ),
                ]
        with m.If(ahead >= sent + used):
            m.d.comb += invariant(ghost.segments_ahead < len(segments.entries), "segment not found")


def _assert_slot(m: Module, p: T3Parameters, dut: DmaLane, queues: Queues, ghost) -> None:
    sent = dut.sends.valid
    slot = Signal(p.slot_bits, name="slot_of_followed")
    metadata, data = (
        slots.memory.read_port(domain="comb") for slots in (dut.slot_packets, dut.slot_data)
    )
    m.d.comb += [
        slot.eq(dut.head + ghost.sends_ahead - sent),
        metadata.addr.eq(slot),
        data.addr.eq(slot),
    ]
    right = Cat(
        Value.cast(metadata.data[name]) == Value.cast(ghost.packet[name])
        for name in metadata.data.shape().members
    )
    with m.If((ghost.sends_ahead >= sent) & (ghost.sends_ahead < sent + dut.used)):
        filled = dut.filled.bit_select(slot, 1)
        m.d.comb += [
            invariant(right.all(), "the packet in the slot differs"),
            invariant(~ghost.read | (slot == ghost.slot), "the slot differs"),
            invariant(
                ~ghost.read | (ghost.returned == filled), "filled: differs from returned data"
            ),
            invariant(~filled | (data.data == ghost.packet.data), "the data in the slot differs"),
        ]
        for index, read in enumerate(queues.reads.entries):
            with m.If(~ghost.read & (ghost.reads_ahead == index)):
                m.d.comb += invariant(
                    (read.atom == (ghost.segment.atom + ghost.index)[: len(read.atom)])
                    & (read.slot == slot),
                    f"read {index}: differs",
                )
