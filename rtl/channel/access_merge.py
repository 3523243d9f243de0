"""Merge of all DRAM accesses of a channel into one stream."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ArbiterConfiguration
from rtl.interface.encodings import Access, Origin
from rtl.interface.layouts import DramRequest, ReadRequest
from rtl.lib.round_robin import Merge, Merge2
from rtl.parameters import T3Parameters

from .arbitration.arbiter import Arbiter
from .payloads import WriteRequest

__all__ = ["AccessMerge"]

_FOR_THE_ARBITER = ("start", "active", "relaxed", "critical", "congested")


class AccessMerge(wiring.Component):
    """Merge of the compute stream and the communication stream for the DRAM.

    The compute stream consists of the reads and writes of the compute units. The communication
    stream consists of the updates and writes that arrive over the link, and of the DMA lanes'
    reads. The arbiter chooses between the two. Combinational except for the state of the arbiters.

    Members
    -------
    reads : In(stream)
        Reads of the compute units.
    writes, updates : In(stream)
        Accesses made from stores, and from packets.
    dma_reads : In(stream).array(contexts)
        Reads of the DMA lanes. ``tag`` holds the slot, to which the context's number is added.
    o : Out(stream)
        Accesses for the DRAM.
    configuration, start, active, relaxed, critical, congested : In
        See :class:`Arbiter`.
    occupancy : In(7)
        Entries of the DRAM queue; takes effect from the next cycle on.
    is_full : Out(1)
        The DRAM queue holds at least ``cuts[2]`` entries.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    compute, communication : Merge2
        Merges of the compute stream (reads, stores) and the communication stream (packets, lanes).
    lanes : Merge
        Merge of the lanes' reads.
    arbiter : Arbiter
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "reads": In(stream.Signature(ReadRequest(p))),
                "writes": In(stream.Signature(WriteRequest(p))),
                "updates": In(stream.Signature(WriteRequest(p))),
                "dma_reads": In(stream.Signature(DramRequest(p))).array(p.contexts),
                "o": Out(stream.Signature(DramRequest(p))),
                "configuration": In(ArbiterConfiguration(p)),
                "occupancy": In(7),
                "start": In(1),
                "active": In(1),
                "relaxed": In(1),
                "critical": In(1),
                "congested": In(1),
                "is_full": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.compute, self.communication = (Merge2(DramRequest(p)) for _ in range(2))
        self.lanes = Merge(DramRequest(p), p.contexts)
        self.arbiter = Arbiter(p)

    def elaborate(self, platform):
        m = Module()
        compute, communication, lanes = self.compute, self.communication, self.lanes
        m.submodules.compute = compute
        m.submodules.communication = communication
        m.submodules.lanes = lanes
        m.submodules.arbiter = arbiter = self.arbiter
        reads = self.reads
        m.d.comb += [
            compute.a.valid.eq(reads.valid),
            reads.ready.eq(compute.a.ready),
            compute.a.p.access.eq(Access.READ),
            compute.a.p.origin.eq(Origin.COMPUTE),
            compute.a.p.atom.eq(reads.p.atom),
            compute.a.p.tag.eq(reads.p.tag),
        ]
        self._as_request(m, self.writes, compute.b, Origin.COMPUTE)
        self._as_request(m, self.updates, communication.a, Origin.COMMUNICATION)
        for number, (lane, read) in enumerate(zip(self.dma_reads, lanes.i, strict=True)):
            m.d.comb += [
                read.valid.eq(lane.valid),
                read.p.eq(lane.p),
                read.p.tag.eq(Cat(lane.p.tag[: self._p.slot_bits], Const(number, 4))),
                read.p.owner.eq(number),
                lane.ready.eq(read.ready),
            ]
        wiring.connect(m, lanes.o, communication.b)
        wiring.connect(m, compute.o, arbiter.compute)
        wiring.connect(m, communication.o, arbiter.communication)
        wiring.connect(m, arbiter.o, wiring.flipped(self.o))
        occupancy = Signal(7)
        m.d.sync += occupancy.eq(self.occupancy)
        m.d.comb += [
            arbiter.configuration.eq(self.configuration),
            arbiter.occupancy.eq(occupancy),
            self.is_full.eq(occupancy >= self.configuration.cuts[2]),
            # The merges in front of the arbiter change state only when a request is taken.
            self.clock_enable.eq(arbiter.clock_enable | (occupancy != self.occupancy)),
        ]
        m.d.comb += [getattr(arbiter, name).eq(getattr(self, name)) for name in _FOR_THE_ARBITER]
        return m

    def _as_request(self, m: Module, source, sink, origin: Origin) -> None:
        m.d.comb += [
            sink.valid.eq(source.valid),
            source.ready.eq(sink.ready),
            sink.p.origin.eq(origin),
        ]
        m.d.comb += [sink.p[name].eq(source.p[name]) for name in source.p.shape().members]
