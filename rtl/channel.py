"""The datapath of one memory channel: stores, link and DMA to the DRAM, and its notices back."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .address_map import AddressLookup
from .arbiter import Arbiter
from .dma_lane import DmaLane
from .layouts import (
    Access,
    Action,
    ArbiterConfiguration,
    ChannelSignature,
    Classified,
    DramRequest,
    ErrorCode,
    ErrorSignature,
    MapConfiguration,
    Origin,
    Packet,
    PacketKind,
    Piece,
    ProductionConfiguration,
    ReadRequest,
    StoreKind,
    StoreRequest,
    Target,
    TileUpdates,
    TrackerInput,
)
from .nmc import NmcUnit
from .notice_queue import NoticeQueue
from .parameters import T3Parameters
from .queue import Queue
from .round_robin import Merge2

__all__ = ["Channel"]


class Channel(wiring.Component):
    """Classifies stores, checks packets, merges all accesses, and sorts the DRAM's notices.

    A read is before the arbiter one cycle after its port, a packet two, a store three; what the
    arbiter chooses is at ``dram`` one cycle later. Each stage moves one payload per cycle. Every
    output but the errors and ``idle`` is a queue's end or a register.

    Updates are let through for places from ``base`` to ``limit - 1`` only; others are dropped and
    reported.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    reads, stores, link_in, link_out, dram, occupancy, notices, returns, stored, nmc_in, nmc_out
        See :class:`ChannelSignature`.
    maps, production, arbiter : In
        Configuration.
    start : In(1)
        Begin the arbiter's measurement.
    base, limit : In(limit_bits)
        Places that may be updated.
    tile_notices : Out(stream)
        Issued updates for the tracker; those of a tile that wait are one payload.
    tile_ends : Out(stream)
        Tile ends, for the tracker.
    pieces : In(stream)
        From the DMA engine.
    store_error, packet_error : Out(ErrorSignature)
        A store or a packet was dropped in this cycle.
    idle : Out(1)
        No DMA work is here, and nothing waits for the link.
    epoch : In(8)
        Of this production, for the reduce unit; with ``payload`` only.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._p = p
        # A write or an update: what is not the same for all accesses of its stream.
        members = DramRequest(p).members
        self._written = data.StructLayout(
            {name: members[name] for name in members if name not in ("origin", "tag")}
        )
        super().__init__(
            {
                **ChannelSignature(p).members,
                "maps": In(MapConfiguration(p)),
                "production": In(ProductionConfiguration(p)),
                "arbiter": In(ArbiterConfiguration(p)),
                "start": In(1),
                "base": In(p.limit_bits),
                "limit": In(p.limit_bits),
                "tile_notices": Out(stream.Signature(TileUpdates(p))),
                "tile_ends": Out(stream.Signature(TrackerInput(p))),
                "pieces": In(stream.Signature(Piece(p))),
                "store_error": Out(ErrorSignature(p)),
                "packet_error": Out(ErrorSignature(p)),
                "idle": Out(1),
            }
            | ({"epoch": In(8)} if p.payload else {})
        )

    def elaborate(self, platform):
        m = Module()
        p = self._p

        m.submodules.reads = reads = Queue(ReadRequest(p), depth=4)
        m.submodules.writes = writes = Queue(self._written, depth=4)
        m.submodules.updates = updates = Queue(self._written, depth=8)
        m.submodules.remote = remote = Queue(Packet(p), depth=4)
        m.submodules.link = link = Queue(Packet(p), depth=2)
        m.submodules.issue = issue = Queue(DramRequest(p), depth=2)
        m.submodules.lane = lane = DmaLane(p)
        wiring.connect(m, wiring.flipped(self.reads), reads.i)
        wiring.connect(m, wiring.flipped(self.returns), lane.returns)
        wiring.connect(m, wiring.flipped(self.pieces), lane.pieces)
        wiring.connect(m, link.o, wiring.flipped(self.link_out))
        wiring.connect(m, issue.o, wiring.flipped(self.dram))

        classified = self._classify(m)
        self._route(m, classified, writes, remote)
        self._check(m, updates)
        self._notice(m)

        m.submodules.to_link = to_link = Merge2(Packet(p))
        wiring.connect(m, remote.o, to_link.a)
        wiring.connect(m, lane.sends, to_link.b)
        wiring.connect(m, to_link.o, link.i)

        m.submodules.compute = compute = Merge2(DramRequest(p))
        m.submodules.communication = communication = Merge2(DramRequest(p))
        m.submodules.arbiter = arbiter = Arbiter(p)
        m.d.comb += [
            compute.a.valid.eq(reads.o.valid),
            reads.o.ready.eq(compute.a.ready),
            compute.a.p.access.eq(Access.READ),
            compute.a.p.origin.eq(Origin.COMPUTE),
            compute.a.p.atom.eq(reads.o.p.atom),
            compute.a.p.tag.eq(reads.o.p.tag),
        ]
        self._as_request(m, writes, compute.b, Origin.COMPUTE)
        self._as_request(m, updates, communication.a, Origin.COMMUNICATION)
        wiring.connect(m, lane.reads, communication.b)
        wiring.connect(m, compute.o, arbiter.compute)
        wiring.connect(m, communication.o, arbiter.communication)
        wiring.connect(m, arbiter.o, issue.i)
        occupancy = Signal(7)
        m.d.sync += occupancy.eq(self.occupancy)
        m.d.comb += [
            arbiter.occupancy.eq(occupancy),
            arbiter.configuration.eq(self.arbiter),
            arbiter.start.eq(self.start),
            self.idle.eq(lane.idle & ~remote.o.valid & ~link.o.valid),
        ]

        if p.payload:
            m.submodules.nmc = nmc = NmcUnit(p)
            wiring.connect(m, wiring.flipped(self.nmc_in), nmc.i)
            wiring.connect(m, nmc.o, wiring.flipped(self.nmc_out))
            m.d.comb += nmc.epoch.eq(self.epoch)
        return m

    def _as_request(self, m: Module, source: Queue, sink, origin: Origin) -> None:
        m.d.comb += [
            sink.valid.eq(source.o.valid),
            source.o.ready.eq(sink.ready),
            sink.p.origin.eq(origin),
        ]
        m.d.comb += [sink.p[name].eq(source.o.p[name]) for name in self._written.members]

    def _lookup(self, m: Module, name: str, request) -> AddressLookup:
        m.submodules[name] = lookup = AddressLookup(self._p)
        m.d.comb += [
            lookup.atom.eq(request.atom),
            lookup.context.eq(request.context),
            lookup.workgroup.eq(request.workgroup),
            lookup.maps.eq(self.maps),
            lookup.production.eq(self.production),
        ]
        return lookup

    def _classify(self, m: Module) -> Queue:
        """Stores, classified. A store that is dropped does not need room."""
        p = self._p
        m.submodules.stores = stores = Queue(StoreRequest(p), depth=4)
        m.submodules.classified = classified = Queue(Classified(p), depth=2)
        wiring.connect(m, wiring.flipped(self.stores), stores.i)
        store, out = stores.o.p, classified.i.p
        lookup = self._lookup(m, "store_lookup", store)
        end = Signal()
        late = Signal()
        ahead = Signal()
        keep = Signal()
        m.d.comb += [
            end.eq(store.kind == StoreKind.TILE_END),
            late.eq(lookup.place < self.base),
            ahead.eq(lookup.place >= self.limit),
            out.atom.eq(store.atom),
            out.context.eq(store.context),
            out.workgroup.eq(store.workgroup),
            out.place.eq(lookup.place),
            out.wavefront.eq(store.wavefront),
            out.sectors.eq(store.sectors),
            out.row_edge.eq(store.row_edge),
            out.run_edge.eq(store.run_edge),
            out.packet_kind.eq(lookup.command.kind),
            out.op.eq(lookup.command.op),
            out.dtype.eq(lookup.command.dtype),
            out.data.eq(store.data),
            self.store_error.report.place.eq(lookup.place),
            self.store_error.report.wavefront.eq(store.wavefront),
        ]
        with m.Switch(lookup.action):
            with m.Case(Action.NONE):
                m.d.comb += [keep.eq(~end), out.target.eq(Target.WRITE)]
            with m.Case(Action.REMOTE):
                m.d.comb += [
                    keep.eq(~end),
                    out.target.eq(Target.REMOTE),
                    out.atom.eq(store.atom + lookup.command.atom_offset),
                    out.context.eq(lookup.command.context),
                ]
            with m.Default():
                m.d.comb += keep.eq(~late & ~ahead)
                with m.If(end):
                    m.d.comb += out.target.eq(Target.TILE_END)
                with m.Else():
                    m.d.comb += out.target.eq(Target.UPDATE)
                with m.If(late):
                    m.d.comb += self.store_error.report.code.eq(ErrorCode.STORE_LATE)
                with m.Else():
                    m.d.comb += self.store_error.report.code.eq(ErrorCode.STORE_AHEAD)
                m.d.comb += self.store_error.valid.eq(stores.o.valid & ~keep)
        m.d.comb += [
            classified.i.valid.eq(stores.o.valid & keep),
            stores.o.ready.eq(classified.i.ready | ~keep),
        ]
        return classified

    def _route(self, m: Module, classified: Queue, writes: Queue, remote: Queue) -> None:
        """Classified stores into the queue of their target."""
        p = self._p
        # What the tracker wants of a tile end.
        members = TrackerInput(p).members
        tile_end = data.StructLayout(
            {name: members[name] for name in members if name not in ("end", "atom", "count")}
        )
        m.submodules.ends = ends = Queue(tile_end, depth=2)
        store = classified.o.p
        written, packet = writes.i.p, remote.i.p
        m.d.comb += [
            written.access.eq(Access.WRITE),
            written.atom.eq(store.atom),
            written.data.eq(store.data),
            packet.kind.eq(store.packet_kind),
        ]
        m.d.comb += [
            packet[name].eq(store[name]) for name in packet.shape().members if name != "kind"
        ]
        m.d.comb += [ends.i.p[name].eq(store[name]) for name in tile_end.members]
        with m.If(store.target == Target.UPDATE):
            m.d.comb += [
                written.access.eq(Access.UPDATE),
                written.place.eq(store.place),
                written.wavefront.eq(store.wavefront),
                written.op.eq(store.op),
                written.dtype.eq(store.dtype),
            ]
        with m.Switch(store.target):
            for target, queue in (
                ((Target.WRITE, Target.UPDATE), writes),
                ((Target.REMOTE,), remote),
                ((Target.TILE_END,), ends),
            ):
                with m.Case(*target):
                    m.d.comb += [
                        queue.i.valid.eq(classified.o.valid),
                        classified.o.ready.eq(queue.i.ready),
                    ]
        m.d.comb += [
            self.tile_ends.valid.eq(ends.o.valid),
            ends.o.ready.eq(self.tile_ends.ready),
            self.tile_ends.p.end.eq(1),
        ]
        m.d.comb += [self.tile_ends.p[name].eq(ends.o.p[name]) for name in tile_end.members]

    def _check(self, m: Module, updates: Queue) -> None:
        """Packets into updates and writes. A packet that is dropped does not need room."""
        m.submodules.inbound = inbound = Queue(Packet(self._p), depth=4)
        wiring.connect(m, wiring.flipped(self.link_in), inbound.i)
        packet, out = inbound.o.p, updates.i.p
        lookup = self._lookup(m, "packet_lookup", packet)
        keep = Signal()
        code = self.packet_error.report.code
        m.d.comb += [
            out.access.eq(Access.WRITE),
            out.atom.eq(packet.atom),
            out.data.eq(packet.data),
        ]
        with m.If(packet.kind == PacketKind.STORE):
            m.d.comb += [keep.eq(lookup.mapped), code.eq(ErrorCode.PACKET_UNMAPPED)]
        with m.Else():
            m.d.comb += [
                out.access.eq(Access.UPDATE),
                out.place.eq(lookup.place),
                out.wavefront.eq(packet.wavefront),
                out.op.eq(packet.op),
                out.dtype.eq(packet.dtype),
            ]
            with m.If((lookup.action == Action.NONE) | (lookup.action == Action.REMOTE)):
                m.d.comb += code.eq(ErrorCode.PACKET_UNMAPPED)
            with m.Elif(lookup.place < self.base):
                m.d.comb += code.eq(ErrorCode.PACKET_LATE)
            with m.Elif(lookup.place >= self.limit):
                m.d.comb += code.eq(ErrorCode.PACKET_AHEAD)
            with m.Else():
                m.d.comb += keep.eq(1)
        m.d.comb += [
            updates.i.valid.eq(inbound.o.valid & keep),
            inbound.o.ready.eq(updates.i.ready | ~keep),
            self.packet_error.valid.eq(inbound.o.valid & ~keep),
            self.packet_error.report.place.eq(packet.workgroup),
            self.packet_error.report.wavefront.eq(packet.wavefront),
        ]

    def _notice(self, m: Module) -> None:
        """The DRAM's notices: updates to the tracker, writes counted."""
        m.submodules.notices = notices = NoticeQueue(self._p, depth=8)
        wiring.connect(m, notices.o, wiring.flipped(self.tile_notices))
        access = self.notices.p.access
        m.d.comb += [
            notices.i.p.eq(self.notices.p),
            notices.i.valid.eq(self.notices.valid & (access == Access.UPDATE)),
            self.notices.ready.eq(notices.i.ready),
        ]
        with m.If(self.notices.valid & self.notices.ready & (access == Access.WRITE)):
            m.d.sync += self.stored.eq(self.stored + 1)
