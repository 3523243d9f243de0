"""One channel's part of the DMA engine: reads atoms, and sends them on."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import Access, Origin
from rtl.interface.layouts import DramRequest, Packet, ReadReturn, Segment
from rtl.lib.queue import Queue
from rtl.parameters import T3Parameters

__all__ = ["DmaLane"]

SEGMENTS_DEPTH = 4
READS_DEPTH = 2
SENDS_DEPTH = 4


class DmaLane(wiring.Component):
    """Expands segments to reads, and sends the atoms that were read as packets, in their order.

    An atom is read only after an egress slot is reserved for it. Data may return in any order and
    in any cycle; a packet leaves when its atom and all earlier ones are there. One atom per cycle
    in and out. A slot that is filled in cycle *t* gives a packet that is at ``sends`` in *t + 3*.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    segments : In(stream)
        From the engine.
    reads : Out(stream)
        To the DRAM; ``tag`` is the egress slot.
    returns : In(stream)
        The data of the slots, always taken.
    sends : Out(stream)
        To the link.
    idle : Out(1)
        Nothing is held here.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
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
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p = self._p

        # A read is told from another by these alone; the rest of its request is constant.
        read = data.StructLayout({"atom": p.atom_address_bits, "slot": p.slot_bits})
        # What a packet is, apart from its data.
        members = Packet(p).members
        held = data.StructLayout({name: members[name] for name in members if name != "data"})

        m.submodules.segments = segments = Queue(Segment(p), depth=SEGMENTS_DEPTH)
        m.submodules.reads = reads = Queue(read, depth=READS_DEPTH)
        m.submodules.sends = sends = Queue(Packet(p), depth=SENDS_DEPTH)
        m.submodules.metadata = metadata = Memory(shape=held, depth=p.egress_slots, init=[])
        metadata_write = metadata.write_port()
        metadata_read = metadata.read_port()
        wiring.connect(m, wiring.flipped(self.segments), segments.i)
        wiring.connect(m, sends.o, wiring.flipped(self.sends))

        head = Signal(p.slot_bits)
        tail = Signal(p.slot_bits)
        used = Signal(range(p.egress_slots + 1))
        filled = Signal(p.egress_slots)
        flying = Signal()  # read from the memories in the last cycle, not yet in the queue

        segment = segments.o.p
        index = Signal(segment.length.shape())
        expand = Signal()
        wave = Signal(16)
        atom = Signal(p.atom_address_bits)
        low_bits = (p.interleave_atoms - 1).bit_length()
        m.d.comb += [
            expand.eq(segments.o.valid & reads.i.ready & (used != p.egress_slots)),
            segments.o.ready.eq(expand & (index + 1 == segment.length)),
            # A segment lies within what the channel holds in one place: no carry leaves the low
            # bits.
            atom.eq(Cat((segment.atom[:low_bits] + index)[:low_bits], segment.atom[low_bits:])),
            wave.eq((segment.offset + index) >> segment.wave_inner_log2),
            reads.i.valid.eq(expand),
            reads.i.p.atom.eq(atom),
            reads.i.p.slot.eq(tail),
            metadata_write.en.eq(expand),
            metadata_write.addr.eq(tail),
            metadata_write.data.kind.eq(segment.kind),
            metadata_write.data.atom.eq(segment.remote + index),
            metadata_write.data.context.eq(segment.context),
            metadata_write.data.workgroup.eq(segment.workgroup),
            metadata_write.data.wavefront.eq(segment.wavefront + wave),
            metadata_write.data.op.eq(segment.op),
            metadata_write.data.dtype.eq(segment.dtype),
        ]
        with m.If(expand):
            m.d.sync += index.eq(Mux(segments.o.ready, 0, index + 1))
        m.d.comb += [
            self.reads.valid.eq(reads.o.valid),
            reads.o.ready.eq(self.reads.ready),
            self.reads.p.access.eq(Access.READ),
            self.reads.p.origin.eq(Origin.COMMUNICATION),
            self.reads.p.atom.eq(reads.o.p.atom),
            self.reads.p.tag.eq(reads.o.p.slot),
        ]

        send = Signal()
        room = Signal()
        fill = self.returns.valid << self.returns.p.slot
        m.d.comb += [
            room.eq(sends.level + flying < SENDS_DEPTH),
            send.eq((used != 0) & filled.bit_select(head, 1) & room),
            metadata_read.addr.eq(head),
            metadata_read.en.eq(send),
            sends.i.valid.eq(flying),
        ]
        m.d.comb += [sends.i.p[name].eq(metadata_read.data[name]) for name in held.members]
        m.d.sync += flying.eq(send)
        m.d.sync += filled.eq((filled & ~(send << head)) | fill)
        m.d.sync += [
            head.eq(head + send),
            tail.eq(tail + expand),
            used.eq(used + expand - send),
        ]

        if p.with_data:
            m.submodules.data = memory = Memory(
                shape=ReadReturn(p)["data"].shape, depth=p.egress_slots, init=[]
            )
            data_write = memory.write_port()
            data_read = memory.read_port()
            m.d.comb += [
                data_write.en.eq(self.returns.valid),
                data_write.addr.eq(self.returns.p.slot),
                data_write.data.eq(self.returns.p.data),
                data_read.en.eq(send),
                data_read.addr.eq(head),
                sends.i.p.data.eq(data_read.data),
            ]

        m.d.comb += self.idle.eq(
            ~segments.o.valid & ~reads.o.valid & ~sends.o.valid & ~flying & (used == 0)
        )
        return m
