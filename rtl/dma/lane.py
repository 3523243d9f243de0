"""DMA lane: the part of the DMA in a channel, which reads atoms and sends them."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import Access, Origin, PacketKind
from rtl.interface.layouts import DramRequest, Packet, ReadReturn, Segment
from rtl.lib.queue import Queue
from rtl.lib.single_port_memory import SinglePortMemory
from rtl.parameters import T3Parameters

__all__ = ["DmaLane"]

SEGMENTS_DEPTH = 2
READS_DEPTH = 2


class DmaLane(wiring.Component):
    """DMA lane of a context: expands segments into reads, and sends the atoms as packets in order.

    A segment of kind END is sent as one packet, without a read. An atom is read only after an
    egress slot has been reserved for it. Data may return in any order and in any cycle; a packet
    leaves when its atom and all earlier atoms have returned. The memories of the slots have one
    port: no packet is read in a cycle in which an atom is expanded or returns. A packet that had to
    wait is read before the next atom is expanded. The lane therefore moves at most one atom in two
    cycles; a link accepts far less from a channel. A slot that is filled in cycle *t* gives a
    packet at ``sends`` in *t + 2* at the earliest.

    Members
    -------
    segments : In(stream)
        Segments from the engine.
    reads : Out(stream)
        Reads for the DRAM; ``tag`` is the egress slot.
    returns : In(stream)
        Data of the slots, always accepted. The lower bits of ``slot`` select the slot.
    sends : Out(stream)
        Packets for the link, from the slots' memories.
    aborting : In(1)
        Drop segments. Outstanding reads still return and leave.
    idle : Out(1)
        The lane holds no segment, read or packet.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    segments_queue, reads_queue : Queue
    slot_packets : SinglePortMemory
        Packet of each egress slot, without its data.
    slot_data : SinglePortMemory
        Data of each egress slot; with ``with_data`` only.
    head, tail : Signal
        Slot of the next packet to leave, and slot to reserve next.
    used : Signal
        Number of reserved slots.
    filled : Signal
        Slots whose data has returned.
    index : Signal
        Number of expanded atoms of the segment.
    held : Signal
        A packet could not be read because of a port conflict.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._p = p
        super().__init__(
            {
                "segments": In(stream.Signature(Segment(p))),
                "reads": Out(stream.Signature(DramRequest(p))),
                "returns": In(stream.Signature(ReadReturn(p), always_ready=True)),
                "sends": Out(stream.Signature(Packet(p))),
                "aborting": In(1),
                "idle": Out(1),
                "clock_enable": Out(1),
            }
        )
        # Only these fields differ between reads; the rest of a request is constant.
        read = data.StructLayout({"atom": p.atom_address_bits, "slot": p.slot_bits})
        members = Packet(p).members
        held = data.StructLayout({name: members[name] for name in members if name != "data"})
        self.segments_queue = Queue(Segment(p), depth=SEGMENTS_DEPTH)
        self.reads_queue = Queue(read, depth=READS_DEPTH)
        self.slot_packets = SinglePortMemory(held, depth=p.egress_slots)
        if p.with_data:
            data_shape = ReadReturn(p)["data"].shape
            self.slot_data = SinglePortMemory(data_shape, depth=p.egress_slots)
        self.head = Signal(p.slot_bits)
        self.tail = Signal(p.slot_bits)
        self.used = Signal(range(p.egress_slots + 1))
        self.filled = Signal(p.egress_slots)
        self.index = Signal(Segment(p)["length"].shape)
        self.held = Signal()
        self._marks = Signal(name="marks")  # an END packet gets its slot

    def elaborate(self, platform):
        m = Module()
        self._connect(m)
        expand = self._expand(m)
        self._read(m)
        send = self._send(m, expand)
        m.d.sync += [
            self.head.eq(self.head + send),
            self.tail.eq(self.tail + expand),
            self.used.eq(self.used + expand - send),
        ]
        if self._p.with_data:
            self._keep_data(m, send)
        m.d.comb += self.idle.eq(
            ~self.segments_queue.o.valid
            & ~self.reads_queue.o.valid
            & ~self.sends.valid
            & (self.used == 0)
        )
        self._enable_clock(m, send)
        return m

    def _enable_clock(self, m: Module, send: Signal) -> None:
        """Enable the clock while something arrives or leaves; an expanded atom enters the queue of
        reads, an END packet its slot."""
        happens = [
            self.segments_queue.clock_enable,
            self.reads_queue.clock_enable,
            self.returns.valid,
            self._marks,
            self.held,
            send,
            self.sends.valid & self.sends.ready,
        ]
        m.d.comb += self.clock_enable.eq(Cat(happens).any())

    def _connect(self, m: Module) -> None:
        m.submodules.segments = self.segments_queue
        m.submodules.reads = self.reads_queue
        m.submodules.metadata = self.slot_packets
        wiring.connect(m, wiring.flipped(self.segments), self.segments_queue.i)

    def _expand(self, m: Module) -> Signal:
        """Turn the next atom of the first segment into a read, if a slot is free."""
        p, index, segments, reads = self._p, self.index, self.segments_queue, self.reads_queue
        segment = segments.o.p
        packets = self.slot_packets
        expand, ends, marks = Signal(), Signal(), self._marks
        wave = Signal(16)
        atom = Signal(p.atom_address_bits)
        low_bits = (p.interleave_atoms - 1).bit_length()
        m.d.comb += [
            expand.eq(
                (segments.o.valid & reads.i.ready & ~self.aborting)
                & (self.used != p.egress_slots)
                & ~self.held
            ),
            ends.eq(expand & (index + 1 == segment.length)),
            marks.eq(expand & (segment.kind == PacketKind.END)),
            segments.o.ready.eq(ends | self.aborting),
            # A segment lies within one granule of the channel, so no carry leaves the low bits.
            atom.eq(Cat((segment.atom[:low_bits] + index)[:low_bits], segment.atom[low_bits:])),
            wave.eq((segment.offset + index) >> segment.wave_inner_log2),
            reads.i.valid.eq(expand & (segment.kind != PacketKind.END)),
            reads.i.p.atom.eq(atom),
            reads.i.p.slot.eq(self.tail),
            packets.write.eq(expand),
            packets.write_address.eq(self.tail),
            packets.i.kind.eq(segment.kind),
            packets.i.atom.eq(atom + segment.atom_offset),
            packets.i.peers.eq(segment.peers),
            packets.i.generation.eq(segment.generation),
            packets.i.slot.eq(segment.slot),
            packets.i.wavefront.eq(segment.wavefront + wave),
            packets.i.op.eq(segment.op),
            packets.i.dtype.eq(segment.dtype),
        ]
        # Without a segment the index stays 0.
        with m.If(expand | (segments.o.valid & self.aborting)):
            m.d.sync += index.eq(Mux(segments.o.ready, 0, index + 1))
        return expand

    def _read(self, m: Module) -> None:
        """Send reads that have a slot to the DRAM."""
        reads = self.reads_queue
        m.d.comb += [
            self.reads.valid.eq(reads.o.valid),
            reads.o.ready.eq(self.reads.ready),
            self.reads.p.access.eq(Access.READ),
            self.reads.p.origin.eq(Origin.COMMUNICATION),
            self.reads.p.atom.eq(reads.o.p.atom),
            self.reads.p.tag.eq(reads.o.p.slot),
        ]

    def _send(self, m: Module, expand: Signal) -> Signal:
        """Send the first slot to the link once it is filled: it is prefetched, and then free."""
        packets = self.slot_packets
        leaves, send = Signal(), Signal()
        fill = self.returns.valid << self.returns.p.slot[: self._p.slot_bits]
        fill |= self._marks << self.tail
        m.d.comb += [
            leaves.eq(
                (self.used != 0)
                & self.filled.bit_select(self.head, 1)
                & (~self.sends.valid | self.sends.ready)
            ),
            send.eq(leaves & ~expand & ~self.returns.valid),
            packets.read_address.eq(self.head),
            packets.read.eq(send),
        ]
        m.d.comb += [self.sends.p[name].eq(packets.o[name]) for name in packets.o.shape().members]
        m.d.sync += [
            self.held.eq(leaves & ~send),
            self.sends.valid.eq(send | (self.sends.valid & ~self.sends.ready)),
            self.filled.eq((self.filled & ~(send << self.head)) | fill),
        ]
        return send

    def _keep_data(self, m: Module, send: Signal) -> None:
        """Store returned data in its slot, and read it for its packet."""
        m.submodules.data = slots = self.slot_data
        m.d.comb += [
            slots.write.eq(self.returns.valid),
            slots.write_address.eq(self.returns.p.slot[: self._p.slot_bits]),
            slots.i.eq(self.returns.p.data),
            slots.read.eq(send),
            slots.read_address.eq(self.head),
            self.sends.p.data.eq(slots.o),
        ]
