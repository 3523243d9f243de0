"""The datapath of one memory channel: stores, link and DMA to the DRAM, and its acknowledgements
back."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.dma.lane import DmaLane
from rtl.interface.configuration import SOURCE_BITS, ArbiterConfiguration, ContextView
from rtl.interface.encodings import Access, Action, ErrorCode, Origin, PacketKind, StoreKind, Target
from rtl.interface.layouts import (
    DramRequest,
    Packet,
    Segment,
    TileUpdates,
    TrackerInput,
)
from rtl.interface.signatures import ChannelSignature, ErrorSignature
from rtl.lib.injection import InjectSignature
from rtl.lib.memory_queue import MemoryQueue
from rtl.lib.queue import Queue
from rtl.lib.round_robin import Merge, Merge2
from rtl.lib.select import one_hot_select
from rtl.lib.wide_counter import WideCounter
from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters

from .address_map import LocationLookup, RangeLookup
from .arbitration.arbiter import Arbiter
from .issue_ack_buffer import IssueAckBuffer
from .issue_ack_queue import IssueAckQueue
from .queues import ChannelQueues
from .under_way import UnderWay

__all__ = ["ISSUE_ACK_BUFFER", "ISSUE_ACK_EVENTS", "STORES_ON_THEIR_WAY", "Channel"]

ISSUE_ACK_BUFFER = (
    128  # issue acknowledgements that wait; deep enough for the bursts at the end of a GEMM's stage
)
ISSUE_ACK_EVENTS = 8  # tiles whose updates are put together
STORES_ON_THEIR_WAY = 8

_OF_THE_TOP = {"link_down", "link_reset"}  # of a channel's ports


class Channel(wiring.Component):
    """Classifies stores, checks packets, merges all accesses, and sorts the DRAM's
    acknowledgements.

    A read is before the arbiter one cycle after its port, a packet two, a store three; what the
    arbiter chooses is at ``dram`` one cycle later. Each stage moves one payload per cycle. Every
    output but ``errors``, ``sent``, ``idle`` and ``gone`` is a queue's end or a register.

    Updates are let through for dispatch indices that their context admits, those of packets if
    their operation and type are the command's; others are dropped and reported.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    reads, stores, link_in, link_out, dram, occupancy, issue_acks, returns, stored, nmc_in, nmc_out
        See :class:`ChannelSignature`.
    contexts : In(array of :func:`ContextView`)
    arbiter : In(:func:`ArbiterConfiguration`)
    start : In(1)
        Begin the arbiter's measurement.
    active, relaxed, critical, congested : In(1)
        For the arbiter: what :class:`~rtl.trigger.criticality.Criticality` tells.
    held_up : Out(1)
        The DRAM queue is full, and nothing waits for the link.
    tile_issue_acks : Out(stream)
        Issued updates for the tracker; those of a tile that wait are one payload.
    end_of_tile_markers : Out(stream)
        End-of-tile markers, for the tracker.
    segments : In(stream).array(contexts)
        From the DMA engines.
    errors : Out(ErrorSignature).array(3)
        A store, a packet, or an issue acknowledgement was dropped in this cycle.
    corrected : Out(1)
        In this cycle, a wrong bit of an issue acknowledgement was corrected.
    inject : In(:class:`InjectSignature`)
        See :class:`IssueAckBuffer`.
    number : In(5)
        Of this GPU.
    sent : Out(contexts)
        Of the context no DMA work is here, and nothing waits for the link.
    idle : Out(contexts)
        Of the context no DMA work is here, nothing waits for the link, and no store or packet of a
        mapped buffer is between its port and the DRAM's acknowledgement, or the tracker.
    gone : Out(contexts)
        As ``idle``, but for packets in the queue before the link.
    over : Out(contexts)
        No store of a mapped buffer and no update is on that way, of those that came before the
        last cycle.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    queues : ChannelQueues
    lanes : list of DmaLane
        One for each context.
    remote : list of MemoryQueue
        Stores that leave over the link, of each context.
    compute, communication : Merge2
        Of the accesses from reads and from stores, and from packets and from the lanes.
    own : list of Merge2
        Of each context's remote stores, and of its lane's packets.
    dma_reads, to_link : Merge
        Of the contexts' reads, and of their packets.
    access_arbiter : Arbiter
    under_way, copies_under_way : list of UnderWay
        One for each context: of stores and updates, and of what only is to be written.
    on_link : list of Signal
        Packets of each context in the queue before the link.
    issue_ack_buffer : IssueAckBuffer
    issue_ack_queue : IssueAckQueue

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._p = p
        members = ChannelSignature(p).members
        super().__init__(
            {
                **{name: members[name] for name in members if name not in _OF_THE_TOP},
                "contexts": In(data.ArrayLayout(ContextView(p), p.contexts)),
                "arbiter": In(ArbiterConfiguration(p)),
                "number": In(SOURCE_BITS),
                "start": In(1),
                "active": In(1),
                "relaxed": In(1),
                "critical": In(1),
                "congested": In(1),
                "held_up": Out(1),
                "tile_issue_acks": Out(stream.Signature(TileUpdates(p))),
                "end_of_tile_markers": Out(stream.Signature(TrackerInput(p))),
                "segments": In(stream.Signature(Segment(p))).array(p.contexts),
                "errors": Out(ErrorSignature(p)).array(3),
                "corrected": Out(1),
                "inject": In(InjectSignature()),
                "sent": Out(p.contexts),
                "idle": Out(p.contexts),
                "gone": Out(p.contexts),
                "over": Out(p.contexts),
            }
        )
        self.queues = ChannelQueues.of(p)
        self.lanes = [DmaLane(p) for _ in range(p.contexts)]
        self.remote = [MemoryQueue(Packet(p), depth=p.remote_depth) for _ in range(p.contexts)]
        self.compute, self.communication = (Merge2(DramRequest(p)) for _ in range(2))
        self.dma_reads = Merge(DramRequest(p), p.contexts)
        self.own = [Merge2(Packet(p)) for _ in range(p.contexts)]
        self.to_link = Merge(self.queues.link.i.p.shape(), p.contexts)
        self.access_arbiter = Arbiter(p)
        self.under_way = [UnderWay(begins=2, ends=5) for _ in range(p.contexts)]
        self.copies_under_way = [UnderWay(begins=1, ends=2) for _ in range(p.contexts)]
        self.on_link = [Signal(2, name=f"on_link_{number}") for number in range(p.contexts)]
        self.issue_ack_buffer = IssueAckBuffer(p, depth=ISSUE_ACK_BUFFER)
        self.issue_ack_queue = IssueAckQueue(p, depth=ISSUE_ACK_EVENTS)
        self._dropped = {name: Signal(name=f"{name}_dropped") for name in ("store", "packet")}

    def elaborate(self, platform):
        m = Module()
        self._connect(m)
        errors = [self._classify(m), self._check(m), self._issue_ack(m)]
        for error, out in zip(errors, self.errors, strict=True):
            m.d.comb += [out.valid.eq(error.valid), out.report.eq(error.report)]
        self._route(m)
        self._send(m)
        self._access(m)
        self._watch(m)
        if self._p.with_data:
            self._reduce(m)
        return m

    def _connect(self, m: Module) -> None:
        """Queues and lanes to the ports."""
        queues = self.queues
        for name, queue in vars(queues).items():
            m.submodules[name] = queue
        wiring.connect(m, wiring.flipped(self.reads), queues.reads.i)
        m.d.comb += [
            self.link_out.valid.eq(queues.link.o.valid),
            self.link_out.p.source.eq(queues.link.o.p.source),
            self.link_owner.eq(queues.link.o.p.owner),
            queues.link.o.ready.eq(self.link_out.ready),
        ]
        sent = queues.link.o.p.packet
        m.d.comb += [self.link_out.p[name].eq(sent[name]) for name in sent.shape().members]
        slot = self.returns.p.slot
        for number, lane in enumerate(self.lanes):
            m.submodules[f"lane_{number}"] = lane
            m.submodules[f"remote_{number}"] = self.remote[number]
            wiring.connect(m, wiring.flipped(self.segments[number]), lane.segments)
            m.d.comb += [
                lane.returns.valid.eq(self.returns.valid & (slot[self._p.slot_bits :] == number)),
                lane.returns.p.eq(self.returns.p),
                lane.aborting.eq(self.contexts[number].aborting),
                self.stores_room[number].eq(
                    self.remote[number].level <= self._p.remote_depth - STORES_ON_THEIR_WAY
                ),
            ]
        wiring.connect(m, queues.issue.o, wiring.flipped(self.dram))

    def _send(self, m: Module) -> None:
        """Remote stores and the lanes' packets to the link, of contexts that it has room for."""
        link = self.queues.link
        m.submodules.to_link = to_link = self.to_link
        wiring.connect(m, to_link.o, link.i)
        for number, (remote, lane) in enumerate(zip(self.remote, self.lanes, strict=True)):
            m.submodules[f"to_link_{number}"] = own = self.own[number]
            wiring.connect(m, remote.o, own.a)
            wiring.connect(m, lane.sends, own.b)
            into, room = to_link.i[number], self.link_room[number]
            aborting = self.contexts[number].aborting
            m.d.comb += [
                into.valid.eq(own.o.valid & room & ~aborting),
                into.p.packet.eq(own.o.p),
                into.p.owner.eq(number),
                into.p.source.eq(self.number),
                own.o.ready.eq((into.ready & room) | aborting),
            ]

    def _access(self, m: Module) -> None:
        """Both streams of accesses to the arbiter, and from there to the DRAM."""
        queues, arbiter = self.queues, self.access_arbiter
        m.submodules.compute = compute = self.compute
        m.submodules.communication = communication = self.communication
        m.submodules.arbiter = arbiter
        reads = queues.reads.o
        m.d.comb += [
            compute.a.valid.eq(reads.valid),
            reads.ready.eq(compute.a.ready),
            compute.a.p.access.eq(Access.READ),
            compute.a.p.origin.eq(Origin.COMPUTE),
            compute.a.p.atom.eq(reads.p.atom),
            compute.a.p.tag.eq(reads.p.tag),
        ]
        self._as_request(m, queues.writes, compute.b, Origin.COMPUTE)
        self._as_request(m, queues.updates, communication.a, Origin.COMMUNICATION)
        m.submodules.dma_reads = reads = self.dma_reads
        for number, lane in enumerate(self.lanes):
            read = reads.i[number]
            m.d.comb += [
                read.valid.eq(lane.reads.valid),
                read.p.eq(lane.reads.p),
                read.p.tag.eq(Cat(lane.reads.p.tag[: self._p.slot_bits], Const(number, 4))),
                read.p.owner.eq(number),
                lane.reads.ready.eq(read.ready),
            ]
        wiring.connect(m, reads.o, communication.b)
        wiring.connect(m, compute.o, arbiter.compute)
        wiring.connect(m, communication.o, arbiter.communication)
        wiring.connect(m, arbiter.o, queues.issue.i)
        occupancy = Signal(7)
        m.d.sync += occupancy.eq(self.occupancy)
        m.d.comb += [
            arbiter.occupancy.eq(occupancy),
            arbiter.configuration.eq(self.arbiter),
            arbiter.start.eq(self.start),
            arbiter.active.eq(self.active),
            arbiter.relaxed.eq(self.relaxed),
            arbiter.critical.eq(self.critical),
            arbiter.congested.eq(self.congested),
            self.held_up.eq((occupancy >= self.arbiter.cuts[2]) & ~queues.link.o.valid),
        ]

    def _as_request(self, m: Module, source: Queue, sink, origin: Origin) -> None:
        m.d.comb += [
            sink.valid.eq(source.o.valid),
            source.o.ready.eq(sink.ready),
            sink.p.origin.eq(origin),
        ]
        m.d.comb += [sink.p[name].eq(source.o.p[name]) for name in source.o.p.shape().members]

    def _watch(self, m: Module) -> None:
        """Whether anything is left to do, of each context."""
        queues, dropped, markers = self.queues, self._dropped, self.end_of_tile_markers

        def moves(stream, owner):
            return stream.valid & stream.ready & (owner == number)

        for number, under_way in enumerate(self.under_way):
            self._count_on_link(m, number)
            m.submodules[f"under_way_{number}"] = under_way
            m.submodules[f"copies_under_way_{number}"] = copies = self.copies_under_way[number]
            store, packet, classified = queues.stores.o, queues.inbound.o, queues.classified.o
            update, issue_ack = self.tile_issue_acks, self.issue_acks
            comes = moves(self.link_in, queues.inbound.i.p.location.owner)
            comes &= queues.inbound.i.p.location.counted
            is_copy = self.link_in.p.kind == PacketKind.STORE
            goes = moves(packet, packet.p.location.owner) & packet.p.location.counted
            goes &= dropped["packet"]
            was_copy = packet.p.kind == PacketKind.STORE
            m.d.comb += [
                under_way.begin.eq(
                    Cat(
                        moves(self.stores, queues.stores.i.p.location.owner)
                        & queues.stores.i.p.location.counted,
                        comes & ~is_copy,
                    )
                ),
                under_way.end.eq(
                    Cat(
                        moves(store, store.p.location.owner)
                        & store.p.location.counted
                        & dropped["store"],
                        moves(classified, classified.p.owner)
                        & (classified.p.target == Target.REMOTE),
                        moves(markers, markers.p.owner),
                        goes & ~was_copy,
                        self.issue_ack_buffer.error.valid
                        & (self.issue_ack_buffer.error.report.owner == number),
                    )
                ),
                under_way.end_count.eq(Mux(moves(update, update.p.owner), update.p.count, 0)),
                copies.begin.eq(comes & is_copy),
                copies.end.eq(
                    Cat(
                        goes & was_copy,
                        moves(issue_ack, issue_ack.p.owner) & (issue_ack.p.access == Access.WRITE),
                    )
                ),
                self.over[number].eq(under_way.none),
                self.sent[number].eq(self.lanes[number].idle & ~self.on_link[number].any()),
                self.gone[number].eq(
                    under_way.none
                    & copies.none
                    & self.lanes[number].idle
                    & ~self.remote[number].level.any()
                ),
                self.idle[number].eq(self.gone[number] & ~self.on_link[number].any()),
            ]

    def _count_on_link(self, m: Module, number: int) -> None:
        link, count = self.queues.link, self.on_link[number]
        pushed, popped = (
            stream.valid & stream.ready & (stream.p.owner == number) for stream in (link.i, link.o)
        )
        m.d.sync += count.eq(count + pushed - popped)

    def _reduce(self, m: Module) -> None:
        """The reduce unit, which the memory controller uses."""
        m.submodules.nmc = nmc = NmcUnit(self._p)
        wiring.connect(m, wiring.flipped(self.nmc_in), nmc.i)
        wiring.connect(m, nmc.o, wiring.flipped(self.nmc_out))
        epochs = [view.launch_configuration.epoch for view in self.contexts]
        m.d.comb += nmc.epoch.eq(self._of_owner(self.nmc_in.p.owner, epochs))

    def _locate(self, m: Module, name: str, port) -> tuple[Queue, data.View]:
        """The queue behind a port, with each request's location in place of its context; and the
        location of what is at the port."""
        queue = getattr(self.queues, name)
        m.submodules[f"{name}_location"] = lookup = LocationLookup(self._p)
        m.d.comb += [
            lookup.atom.eq(port.p.atom),
            lookup.context.eq(port.p.context),
            lookup.workgroup.eq(port.p.workgroup),
            lookup.contexts.eq(self.contexts),
            queue.i.valid.eq(port.valid),
            port.ready.eq(queue.i.ready),
            queue.i.p.location.eq(lookup.location),
        ]
        m.d.comb += [
            queue.i.p[member].eq(port.p[member])
            for member in queue.i.p.shape().members
            if member in port.p.shape().members
        ]
        return queue, lookup.location

    def _range(self, m: Module, name: str, location) -> RangeLookup:
        m.submodules[name] = lookup = RangeLookup(self._p)
        m.d.comb += [lookup.location.eq(location), lookup.contexts.eq(self.contexts)]
        return lookup

    def _of_owner(self, owner: Value, values: list[Value]) -> Value:
        """The owner's of one value for each context."""
        return one_hot_select(Cat(owner == number for number in range(len(values))), values)

    def _is_aborted(self, location: data.View) -> Value:
        """What came during an abort stays out after its end as well."""
        aborting = self._of_owner(location.owner, [view.aborting for view in self.contexts])
        return location.mapped & (aborting | ~location.counted)

    def _is_of_launch(self, location: data.View, generation: Value) -> Value:
        """Whether something is of the launch that runs."""
        return self._of_owner(
            location.owner,
            [
                view.launched & (view.launch_configuration.generation == generation)
                for view in self.contexts
            ],
        )

    def _is_of_former(self, location: data.View, generation: Value) -> Value:
        """Whether something is of the launch before, if that was not aborted."""
        return self._of_owner(
            location.owner,
            [view.former.valid & (view.former.generation == generation) for view in self.contexts],
        )

    def _admitted(self, m: Module, location: data.View) -> tuple[Signal, Signal]:
        """Whether a dispatch index is late, and whether it is ahead, in its context."""
        late, ahead = Signal(), Signal()
        dispatch_index, views = location.dispatch_index, self.contexts
        m.d.comb += [
            late.eq(
                self._of_owner(location.owner, [dispatch_index < view.oldest for view in views])
            ),
            ahead.eq(
                self._of_owner(
                    location.owner, [dispatch_index >= view.credit_limit for view in views]
                )
            ),
        ]
        return late, ahead

    def _classify(self, m: Module):
        """Stores, classified; gives the error. A store that is dropped does not need room."""
        classified = self.queues.classified
        stores, _ = self._locate(m, "stores", self.stores)
        store, out = stores.o.p, classified.i.p
        dispatch_index = store.location.dispatch_index
        lookup = self._range(m, "store_range", store.location)
        error, code = ErrorSignature(self._p).create(), Signal(ErrorCode)
        end = Signal()
        keep = Signal()
        stale = Signal()
        late, ahead = self._admitted(m, store.location)
        m.d.comb += [
            end.eq(store.kind == StoreKind.END_OF_TILE),
            out.owner.eq(store.location.owner),
            out.dispatch_index.eq(dispatch_index),
            out.command.eq(lookup.command),
            out.op.eq(lookup.op),
            out.dtype.eq(lookup.dtype),
            stale.eq(~self._is_of_launch(store.location, store.generation)),
            error.report.code.eq(code),
            error.report.owner.eq(store.location.owner),
            error.report.dispatch_index.eq(dispatch_index),
            error.report.wavefront.eq(store.wavefront),
            error.report.atom.eq(store.atom),
        ]
        names = ("atom", "generation", "workgroup", "wavefront", "data")
        names += ("tile_atoms", "outer_edge", "inner_edge")
        m.d.comb += [out[name].eq(store[name]) for name in names]
        tracked = (lookup.action == Action.DMA) | (lookup.action == Action.OWN)
        aborting = self._is_aborted(store.location)
        leaves = tracked | (lookup.action == Action.REMOTE)
        m.d.comb += [
            keep.eq(Mux(tracked, ~late & ~ahead, ~end) & ~(leaves & (aborting | stale))),
            error.valid.eq(
                stores.o.valid & ((tracked & (late | ahead)) | (leaves & stale)) & ~aborting
            ),
        ]
        with m.If(stale):
            m.d.comb += code.eq(ErrorCode.STORE_STALE)
        with m.Elif(late):
            m.d.comb += code.eq(ErrorCode.STORE_LATE)
        with m.Else():
            m.d.comb += code.eq(ErrorCode.STORE_AHEAD)
        with m.If(tracked):
            m.d.comb += out.target.eq(Mux(end, Target.END_OF_TILE, Target.UPDATE))
        with m.Elif(lookup.action == Action.REMOTE):
            m.d.comb += out.target.eq(Target.REMOTE)
        with m.Else():
            m.d.comb += out.target.eq(Target.WRITE)
        m.d.comb += [
            # An ordinary write is nobody's to wait for.
            self._dropped["store"].eq(~keep | (out.target == Target.WRITE)),
            classified.i.valid.eq(stores.o.valid),
            classified.drop.eq(~keep),
            stores.o.ready.eq(classified.i.ready | ~keep),
        ]
        return error

    def _route(self, m: Module) -> None:
        """Classified stores into the queue of their target."""
        queues = self.queues
        classified, writes, ends = queues.classified, queues.writes, queues.ends
        packet = Signal(Packet(self._p))
        end_of_tile = ends.i.p.shape().members
        store = classified.o.p
        written = writes.i.p
        m.d.comb += [
            written.access.eq(Access.WRITE),
            written.atom.eq(store.atom),
            written.data.eq(store.data),
        ]
        commands = [
            (command, (store.owner == number) & (store.command == index))
            for number, view in enumerate(self.contexts)
            for index, command in enumerate(view.maps.commands)
        ]
        chosen = Signal(len(commands))
        m.d.comb += chosen.eq(Cat(is_chosen for _, is_chosen in commands))
        remote_spaces = [view.address_space.remote for view in self.contexts]

        def of_command(name):
            return one_hot_select(chosen, [command[name] for command, _ in commands])

        names = ("generation", "workgroup", "wavefront", "data", "op", "dtype")
        m.d.comb += [packet[name].eq(store[name]) for name in names]
        m.d.comb += [
            Value.cast(packet.kind).eq(of_command("kind")),
            packet.context.eq(self._of_owner(store.owner, remote_spaces)),
            packet.atom.eq(store.atom + of_command("atom_offset")),
        ]
        m.d.comb += [ends.i.p[name].eq(store[name]) for name in end_of_tile]
        with m.If(store.target == Target.UPDATE):
            m.d.comb += [
                written.access.eq(Access.UPDATE),
                written.owner.eq(store.owner),
                written.dispatch_index.eq(store.dispatch_index),
                written.wavefront.eq(store.wavefront),
                written.op.eq(store.op),
                written.dtype.eq(store.dtype),
            ]
        with m.Switch(store.target):
            for target, queue in (
                ((Target.WRITE, Target.UPDATE), writes),
                ((Target.END_OF_TILE,), ends),
            ):
                with m.Case(*target):
                    m.d.comb += [
                        queue.i.valid.eq(classified.o.valid),
                        classified.o.ready.eq(queue.i.ready),
                    ]
            with m.Case(Target.REMOTE):
                # One that is dropped ends here as well.
                ready = [
                    queue.i.ready | view.aborting
                    for queue, view in zip(self.remote, self.contexts, strict=True)
                ]
                m.d.comb += classified.o.ready.eq(self._of_owner(store.owner, ready))
                for number, queue in enumerate(self.remote):
                    stays = ~self.contexts[number].aborting
                    m.d.comb += queue.i.valid.eq(
                        classified.o.valid & (store.owner == number) & stays
                    )
        m.d.comb += [queue.i.p.eq(packet) for queue in self.remote]
        m.d.comb += [
            self.end_of_tile_markers.valid.eq(ends.o.valid),
            ends.o.ready.eq(self.end_of_tile_markers.ready),
            self.end_of_tile_markers.p.end.eq(1),
        ]
        m.d.comb += [self.end_of_tile_markers.p[name].eq(ends.o.p[name]) for name in end_of_tile]

    def _check(self, m: Module):
        """Packets into updates and writes; gives the error. One that is dropped needs no room."""
        updates = self.queues.updates
        inbound, arrives = self._locate(m, "inbound", self.link_in)
        takes = [self._takes(view, self.link_in.p) for view in self.contexts]
        spaces = [view.address_space for view in self.contexts]
        known = Cat(space.enable & (space.local == self.link_in.p.context) for space in spaces)
        m.d.comb += [
            inbound.i.p.forbidden.eq(~self._of_owner(arrives.owner, takes)),
            inbound.i.p.stray.eq(~known.any()),
        ]
        packet, out = inbound.o.p, updates.i.p
        dispatch_index = packet.location.dispatch_index
        lookup = self._range(m, "packet_range", packet.location)
        error, code = ErrorSignature(self._p).create(), Signal(ErrorCode)
        keep = Signal()
        tracked = Signal()
        other = Signal()
        stale = Signal()
        of_launch = self._is_of_launch(packet.location, packet.generation)
        of_former = self._is_of_former(packet.location, packet.generation)
        late, ahead = self._admitted(m, packet.location)
        m.d.comb += [
            other.eq((packet.op != lookup.op) | (packet.dtype != lookup.dtype)),
            tracked.eq((lookup.action == Action.DMA) | (lookup.action == Action.OWN)),
            out.access.eq(Access.WRITE),
            out.atom.eq(packet.atom),
            out.data.eq(packet.data),
            out.owner.eq(packet.location.owner),
            error.report.code.eq(code),
            error.report.owner.eq(packet.location.owner),
            error.report.dispatch_index.eq(packet.workgroup),
            error.report.wavefront.eq(packet.wavefront),
            error.report.atom.eq(packet.atom),
            error.report.source.eq(packet.source),
            error.report.stray.eq(packet.stray),
        ]
        aborting = self._is_aborted(packet.location)
        with m.If(packet.kind == PacketKind.STORE):
            m.d.comb += [
                stale.eq(~of_launch & ~of_former),
                keep.eq(packet.location.mapped & ~packet.forbidden & ~stale & ~aborting),
            ]
        with m.Else():
            m.d.comb += [
                stale.eq(~of_launch),
                keep.eq(tracked & ~packet.forbidden & ~stale & ~other & ~late & ~ahead & ~aborting),
                out.access.eq(Access.UPDATE),
                out.dispatch_index.eq(dispatch_index),
                out.wavefront.eq(packet.wavefront),
                out.op.eq(packet.op),
                out.dtype.eq(packet.dtype),
            ]
        mapped = Mux(packet.kind == PacketKind.STORE, packet.location.mapped, tracked)
        with m.If(packet.location.mapped & packet.forbidden):
            m.d.comb += code.eq(ErrorCode.PACKET_FORBIDDEN)
        with m.Elif(packet.location.mapped & stale):
            m.d.comb += code.eq(ErrorCode.PACKET_STALE)
        with m.Elif(~mapped):
            m.d.comb += code.eq(ErrorCode.PACKET_UNMAPPED)
        with m.Elif(other):
            m.d.comb += code.eq(ErrorCode.PACKET_MISMATCH)
        with m.Elif(late):
            m.d.comb += code.eq(ErrorCode.PACKET_LATE)
        with m.Else():
            m.d.comb += code.eq(ErrorCode.PACKET_AHEAD)
        m.d.comb += [
            self._dropped["packet"].eq(~keep),
            updates.i.valid.eq(inbound.o.valid),
            updates.drop.eq(~keep),
            inbound.o.ready.eq(updates.i.ready | ~keep),
            error.valid.eq(inbound.o.valid & ~keep & ~aborting),
        ]
        return error

    def _takes(self, view: data.View, packet: data.View) -> Value:
        """Whether a context takes such packets of such a GPU at all."""
        inbound, is_store = view.inbound, packet.kind == PacketKind.STORE
        return Mux(
            is_store,
            inbound.stores.bit_select(packet.source, 1),
            inbound.updates.bit_select(packet.source, 1)
            & inbound.ops.bit_select(Value.cast(packet.op), 1)
            & inbound.dtypes.bit_select(Value.cast(packet.dtype), 1),
        )

    def _issue_ack(self, m: Module):
        """The DRAM's acknowledgements: updates to the tracker, writes counted. Gives the error."""
        m.submodules.issue_ack_buffer = buffer = self.issue_ack_buffer
        m.submodules.issue_acks = issue_acks = self.issue_ack_queue
        wiring.connect(m, buffer.o, issue_acks.i)
        wiring.connect(m, wiring.flipped(self.inject), buffer.inject)
        wiring.connect(m, issue_acks.o, wiring.flipped(self.tile_issue_acks))
        access = self.issue_acks.p.access
        m.d.comb += [
            buffer.i.p.eq(self.issue_acks.p),
            buffer.i.valid.eq(self.issue_acks.valid & (access == Access.UPDATE)),
            self.issue_acks.ready.eq(buffer.i.ready),
            self.corrected.eq(buffer.corrected),
        ]
        m.submodules.stored_count = stored = WideCounter(len(self.stored))
        m.d.comb += [
            stored.step.eq(
                self.issue_acks.valid & self.issue_acks.ready & (access == Access.WRITE)
            ),
            self.stored.eq(stored.o),
        ]
        return buffer.error
