"""Datapath of one memory channel, between stores, link, DMA, DRAM and tracker."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.dma.lane import DmaLane
from rtl.interface.configuration import ArbiterConfiguration, ContextView
from rtl.interface.encodings import Access, ErrorCode, PacketKind, Target
from rtl.interface.layouts import Packet, Segment, TileUpdates, TrackerInput
from rtl.interface.signatures import ChannelSignature, ErrorSignature
from rtl.lib.gating import clock_gated
from rtl.lib.injection import InjectSignature
from rtl.lib.memory_queue import MemoryQueue
from rtl.lib.queue import Queue
from rtl.lib.select import select_at
from rtl.lib.wide_counter import WideCounter
from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters

from .access_merge import AccessMerge
from .address_map import LocationLookup, RangeLookup
from .admission import admission_of, is_end
from .error_register import ErrorRegister
from .inbound_lookup import InboundLookup, inbound_table_of
from .issue_ack_buffer import IssueAckBuffer
from .issue_ack_queue import IssueAckQueue
from .link_merge import LinkMerge, send_table_of
from .monitor import ChannelMonitor
from .packet_check import PACKET_ERRORS, PacketCheck
from .queues import ChannelQueues
from .store_check import STORE_ERRORS, StoreCheck
from .store_router import StoreRouter, remote_table_of

__all__ = [
    "CHANNEL_ERRORS",
    "ISSUE_ACK_BUFFER",
    "ISSUE_ACK_EVENTS",
    "STORES_IN_FLIGHT",
    "Channel",
]

# Depth of the buffer of issue acknowledgements: enough for the bursts at the end of a GEMM's stage.
# With 64 entries, one of 32 channels waits for the tracker for some ns in the paper's largest
# sublayer.
ISSUE_ACK_BUFFER = 128
ISSUE_ACK_EVENTS = 8  # tiles whose updates are merged
STORES_IN_FLIGHT = 8
CHANNEL_ERRORS = {
    "stores": STORE_ERRORS,
    "packets": PACKET_ERRORS,
    "issue_acks": (ErrorCode.TRACKER_CORRUPT,),
}
"""Codes of each of a channel's errors, by the request that has the error."""

_PORTS_OF_TOP = {"link_down", "link_reset"}  # ports of a channel that the top handles


class Channel(wiring.Component):
    """Memory channel: classifies stores, checks packets, merges accesses, and sorts issue
    acknowledgements.

    Requests reach the arbiter after one cycle (reads), two cycles (packets) or three cycles
    (stores); the selected request is at ``dram`` one cycle later. Each stage moves one payload per
    cycle. Every output except ``dma_idle``, ``idle`` and ``drained`` comes from a queue or from
    registers.

    An update passes if its context admits its dispatch index; an update of a packet must also have
    the operation and the type of the command. Other updates are dropped and reported.

    Members
    -------
    reads, stores, link_in, link_out, dram, occupancy, issue_acks, returns, memory_owes, stored
        See :class:`ChannelSignature`.
    nmc_in, nmc_out
        See :class:`ChannelSignature`.
    contexts : In(array of :func:`ContextView`)
    arbiter : In(:func:`ArbiterConfiguration`)
    start : In(1)
        Begin the arbiter's measurement.
    active, relaxed, critical, congested : In(1)
        Outputs of :class:`~rtl.trigger.criticality.Criticality`, for the arbiter.
    held_up : Out(1)
        The DRAM queue is full, and no packet waits for the link.
    tile_issue_acks : Out(stream)
        Issued updates for the tracker; waiting updates of a tile are merged into one payload.
    end_of_tile_markers : Out(stream)
        End-of-tile markers for the tracker.
    segments : In(stream).array(contexts)
        Segments from the DMA engines.
    errors : Out(ErrorSignature).array(3)
        Error of a store, a packet or an issue acknowledgement that was dropped in the last cycle.
    corrected : Out(1)
        A bit error of an issue acknowledgement was corrected in this cycle.
    inject : In(:class:`InjectSignature`)
        See :class:`IssueAckBuffer`.
    dma_idle, idle, drained, stores_drained : Out(contexts)
        See :class:`ChannelMonitor`.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    queues : ChannelQueues
    lanes : list of DmaLane
        DMA lane of each context.
    remote : list of MemoryQueue
        Stores of each context that leave over the link.
    access_merge : AccessMerge
    link_merge : LinkMerge
    monitor : ChannelMonitor
    issue_ack_buffer : IssueAckBuffer
    issue_ack_queue : IssueAckQueue
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._p = p
        members = ChannelSignature(p).members
        super().__init__(
            {
                **{name: members[name] for name in members if name not in _PORTS_OF_TOP},
                "contexts": In(data.ArrayLayout(ContextView(p), p.contexts)),
                "arbiter": In(ArbiterConfiguration(p)),
                "start": In(1),
                "active": In(1),
                "relaxed": In(1),
                "critical": In(1),
                "congested": In(1),
                "held_up": Out(1),
                "tile_issue_acks": Out(stream.Signature(TileUpdates(p))),
                "end_of_tile_markers": Out(stream.Signature(TrackerInput(p))),
                "segments": In(stream.Signature(Segment(p))).array(p.contexts),
                "errors": Out(ErrorSignature(p)).array(len(CHANNEL_ERRORS)),
                "corrected": Out(1),
                "inject": In(InjectSignature()),
                "dma_idle": Out(p.contexts),
                "idle": Out(p.contexts),
                "drained": Out(p.contexts),
                "stores_drained": Out(p.contexts),
            }
        )
        self.queues = ChannelQueues.of(p)
        self.lanes = [DmaLane(p) for _ in range(p.contexts)]
        self.remote = [MemoryQueue(Packet(p), depth=p.remote_depth) for _ in range(p.contexts)]
        self.access_merge = AccessMerge(p)
        self.link_merge = LinkMerge(p)
        self.monitor = ChannelMonitor(p)
        self.issue_ack_buffer = IssueAckBuffer(p, depth=ISSUE_ACK_BUFFER)
        self.issue_ack_queue = IssueAckQueue(p, depth=ISSUE_ACK_EVENTS)
        self._store_check, self._packet_check = StoreCheck(p), PacketCheck(p)
        self._store_router = StoreRouter(p)
        self._store_error = ErrorRegister(p, CHANNEL_ERRORS["stores"])
        self._packet_error = ErrorRegister(p, CHANNEL_ERRORS["packets"])
        self._issue_ack_error = ErrorRegister(p, CHANNEL_ERRORS["issue_acks"])
        self._stored_count = WideCounter(len(self.stored))
        if p.with_data:
            self._nmc = NmcUnit(p)

    def elaborate(self, platform):
        m = Module()
        self._instantiate(m)
        self._connect(m)
        self._take_stores(m)
        self._take_packets(m)
        self._take_issue_acks(m)
        self._report_errors(m)
        self._send(m)
        self._access(m)
        self._monitor(m)
        if self._p.with_data:
            self._reduce(m)
        return m

    def _instantiate(self, m: Module) -> None:
        """Instantiate the blocks with registers, each with a clock gate of its own."""
        blocks = {
            **vars(self.queues),
            **{f"lane_{number}": lane for number, lane in enumerate(self.lanes)},
            **{f"remote_{number}": queue for number, queue in enumerate(self.remote)},
            "access_merge": self.access_merge,
            "link_merge": self.link_merge,
            "monitor": self.monitor,
            "issue_ack_buffer": self.issue_ack_buffer,
            "issue_acks": self.issue_ack_queue,
            "store_error": self._store_error,
            "packet_error": self._packet_error,
            "issue_ack_error": self._issue_ack_error,
            "stored_count": self._stored_count,
        }
        if self._p.with_data:
            blocks["nmc"] = self._nmc
        for name, block in blocks.items():
            m.submodules[name] = clock_gated(block)

    def _connect(self, m: Module) -> None:
        """Connect queues and lanes to the ports."""
        queues = self.queues
        wiring.connect(m, wiring.flipped(self.reads), queues.reads.i)
        wiring.connect(m, queues.issue.o, wiring.flipped(self.dram))
        slot = self.returns.p.slot
        for number, lane in enumerate(self.lanes):
            wiring.connect(m, wiring.flipped(self.segments[number]), lane.segments)
            m.d.comb += [
                lane.returns.valid.eq(
                    self.returns.valid & (slot[self._p.slot_bits :] == number) & ~self.monitor.stale
                ),
                lane.returns.p.eq(self.returns.p),
                lane.aborting.eq(self.contexts[number].aborting),
                self.store_space[number].eq(
                    self.remote[number].level <= self._p.remote_depth - STORES_IN_FLIGHT
                ),
            ]

    def _take_stores(self, m: Module) -> None:
        """Check the stores, and route them to the queues of their targets."""
        queues, markers = self.queues, self.end_of_tile_markers
        m.submodules.store_check = check = self._store_check
        m.submodules.store_router = router = self._store_router
        self._locate(m, "stores", self.stores, "dispatch_index")
        lookup = self._check(m, queues.stores, check, "store_range", "dispatch_index")
        m.d.comb += check.range.eq(lookup.number)
        wiring.connect(m, check.o, queues.classified.i)
        wiring.connect(m, queues.classified.o, router.i)
        wiring.connect(m, router.writes, queues.writes.i)
        wiring.connect(m, router.ends, queues.ends.stores)
        for port, queue in zip(router.remote, self.remote, strict=True):
            wiring.connect(m, port, queue.i)
        ends = queues.ends.o
        m.d.comb += [
            router.tables.eq(Cat(map(remote_table_of, self.contexts))),
            router.space.eq(self.link_space),
            # Both share a register, and the check goes first. The router's store waits only while
            # the store behind it proceeds.
            router.reports.eq(~(check.i.valid & check.i.ready)),
            queues.classified.drop.eq(check.drop),
            markers.valid.eq(ends.valid),
            ends.ready.eq(markers.ready),
            markers.p.end.eq(1),
        ]
        m.d.comb += [markers.p[name].eq(ends.p[name]) for name in ends.p.shape().members]

    def _take_packets(self, m: Module) -> None:
        """Check the packets, and turn them into accesses."""
        queues = self.queues
        m.submodules.inbound_lookup = lookup = InboundLookup(self._p)
        m.submodules.packet_check = check = self._packet_check
        locations = self._locate(m, "inbound", self.link_in, "slot")
        launched = [view.launched for view in self.contexts]
        ranges = self._check(m, queues.inbound, check, "packet_range", "slot")
        wiring.connect(m, check.o, queues.updates.i)
        wiring.connect(m, check.ends, queues.ends.packets)
        m.d.comb += [
            locations.end.eq(is_end(self.link_in.p)),
            ranges.end.eq(is_end(queues.inbound.o.p)),
            queues.inbound.i.p.unowned.eq(locations.unowned),
            # The tables of the first launch after an abort may be those of another tenant.
            queues.inbound.i.p.early.eq(~select_at(locations.location.owner, launched)),
            lookup.packet.eq(queues.inbound.o.p),
            lookup.tables.eq(Cat(map(inbound_table_of, self.contexts))),
            check.forbidden.eq(lookup.forbidden),
            queues.updates.drop.eq(check.drop),
            queues.ends.drop.eq(check.drop),
        ]

    def _locate(self, m: Module, name: str, port, index: str) -> LocationLookup:
        """Fill the queue behind a port, with each request's location in place of its context.
        Return the lookup of the request at the port, whose field ``index`` is a dispatch index.
        """
        queue: Queue = getattr(self.queues, name)
        m.submodules[f"{name}_location"] = lookup = LocationLookup(self._p)
        m.d.comb += [
            lookup.atom.eq(port.p.atom),
            lookup.context.eq(port.p.context),
            lookup.dispatch_index.eq(port.p[index]),
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
        return lookup

    def _check(self, m: Module, queue: Queue, check, name: str, index: str) -> RangeLookup:
        """Connect a check to the output of a queue, and look up the range of the request there."""
        m.submodules[name] = lookup = RangeLookup(self._p)
        wiring.connect(m, queue.o, check.i)
        m.d.comb += [
            lookup.location.eq(queue.o.p.location),
            lookup.dispatch_index.eq(queue.o.p[index]),
            lookup.wavefront.eq(queue.o.p.wavefront),
            lookup.contexts.eq(self.contexts),
            check.action.eq(lookup.action),
            check.shares.eq(lookup.shares),
            check.op.eq(lookup.op),
            check.dtype.eq(lookup.dtype),
            check.beyond.eq(lookup.beyond),
            check.admissions.eq(Cat(map(admission_of, self.contexts))),
        ]
        return lookup

    def _take_issue_acks(self, m: Module) -> None:
        """Route acknowledgements of updates and tracked writes to the tracker, and count
        acknowledgements of writes.
        """
        buffer, issue_acks = self.issue_ack_buffer, self.issue_ack_queue
        wiring.connect(m, buffer.o, issue_acks.i)
        wiring.connect(m, wiring.flipped(self.inject), buffer.inject)
        wiring.connect(m, issue_acks.o, wiring.flipped(self.tile_issue_acks))
        access = self.issue_acks.p.access
        # Acknowledgements of accesses from before a reset are dropped.
        counts = self.issue_acks.valid & ~self.monitor.stale
        m.d.comb += [
            buffer.i.p.eq(self.issue_acks.p),
            buffer.i.valid.eq(counts & ((access == Access.UPDATE) | (access == Access.PLACE))),
            self.issue_acks.ready.eq(buffer.i.ready),
            self.corrected.eq(buffer.corrected),
        ]
        m.d.comb += [
            self._stored_count.step.eq(counts & self.issue_acks.ready & (access == Access.WRITE)),
            self.stored.eq(self._stored_count.o),
        ]

    def _report_errors(self, m: Module) -> None:
        stores, packets, router = self._store_check, self._packet_check, self._store_router
        ahead = 1 << STORE_ERRORS.index(ErrorCode.STORE_AHEAD)
        buffer = self.issue_ack_buffer
        m.d.comb += [
            self._store_error.taken.eq(stores.i.valid & stores.i.ready | router.refused),
            self._store_error.causes.eq(Mux(router.refused, ahead, stores.causes)),
            self._store_error.report.eq(Mux(router.refused, router.report, stores.report)),
            self._packet_error.taken.eq(packets.i.valid & packets.i.ready),
            self._packet_error.causes.eq(packets.causes),
            self._packet_error.report.eq(packets.report),
            self._issue_ack_error.taken.eq(buffer.leaves),
            self._issue_ack_error.causes.eq(buffer.error.valid),
            self._issue_ack_error.report.eq(buffer.error.report),
        ]
        registers = self._store_error, self._packet_error, self._issue_ack_error
        for register, out in zip(registers, self.errors, strict=True):
            m.d.comb += [out.valid.eq(register.error.valid), out.report.eq(register.error.report)]

    def _send(self, m: Module) -> None:
        """Route remote stores and the lanes' packets to the link."""
        link, sent, merge = self.queues.link, self.queues.link.o.p, self.link_merge
        wiring.connect(m, merge.o, link.i)
        for number, (remote, lane) in enumerate(zip(self.remote, self.lanes, strict=True)):
            wiring.connect(m, remote.o, merge.remote[number])
            wiring.connect(m, lane.sends, merge.sends[number])
        m.d.comb += [
            merge.space.eq(self.link_space),
            merge.tables.eq(Cat(map(send_table_of, self.contexts))),
            self.link_out.valid.eq(link.o.valid),
            link.o.ready.eq(self.link_out.ready),
            self.link_out.p.eq(sent.packet),
            self.link_owner.eq(sent.owner),
        ]

    def _access(self, m: Module) -> None:
        """Merge all accesses to the DRAM."""
        queues, merge = self.queues, self.access_merge
        for queue, port in (
            (queues.reads, merge.reads),
            (queues.writes, merge.writes),
            (queues.updates, merge.updates),
        ):
            wiring.connect(m, queue.o, port)
        for lane, port in zip(self.lanes, merge.dma_reads, strict=True):
            wiring.connect(m, lane.reads, port)
        wiring.connect(m, merge.o, queues.issue.i)
        m.d.comb += [
            merge.configuration.eq(self.arbiter),
            merge.occupancy.eq(self.occupancy),
            merge.start.eq(self.start),
            merge.active.eq(self.active),
            merge.relaxed.eq(self.relaxed),
            merge.critical.eq(self.critical),
            merge.congested.eq(self.congested),
            self.held_up.eq(merge.is_full & ~queues.link.o.valid),
        ]

    def _monitor(self, m: Module) -> None:
        """Connect the events that the monitor counts."""
        queues, link, monitor = self.queues, self.queues.link, self.monitor

        def happens(event, stream, owned, *conditions):
            taken = Cat(stream.valid, stream.ready, *conditions).all()
            m.d.comb += event.eq(Cat(taken, owned.owner))

        def located(event, stream, *conditions):
            location = stream.p.location
            happens(event, stream, location, location.counted, *conditions)

        located(monitor.store, queues.stores.i)
        located(monitor.store_retired, queues.stores.o, self._store_check.retires)
        classified, markers = queues.classified.o, self.end_of_tile_markers
        happens(monitor.routed, classified, classified.p, classified.p.target == Target.REMOTE)
        happens(monitor.marked, markers, markers.p)
        packets = queues.inbound.o
        is_copy = packets.p.kind == PacketKind.STORE
        accepted = ~self._packet_check.drop
        happens(monitor.update, packets, packets.p.location, ~is_copy, accepted)
        happens(monitor.copy, packets, packets.p.location, is_copy, accepted)
        updates, issue_acks = self.tile_issue_acks, self.issue_acks
        happens(monitor.counted, updates, updates.p)
        is_write = issue_acks.p.access == Access.WRITE
        happens(monitor.written, issue_acks, issue_acks.p, is_write, ~monitor.stale)
        if self._p.with_data:
            is_update = issue_acks.p.access == Access.UPDATE
            happens(monitor.updated, issue_acks, issue_acks.p, is_update, ~monitor.stale)
        happens(monitor.to_link, link.i, link.i.p)
        happens(monitor.from_link, link.o, link.o.p)
        lost = self.issue_ack_buffer.error
        m.d.comb += [
            monitor.lost.eq(Cat(lost.valid, lost.report.owner)),
            monitor.count.eq(updates.p.count),
            monitor.changes.eq(Cat(view.changes for view in self.contexts)),
            monitor.inbound.eq(queues.inbound.level),
            monitor.checked.eq(packets.valid & packets.ready),
            monitor.lane_idle.eq(Cat(lane.idle for lane in self.lanes)),
            monitor.memory_owes.eq(self.memory_owes),
            monitor.remote.eq(Cat(remote.level.any() for remote in self.remote)),
            self.stores_drained.eq(monitor.stores_drained),
            self.dma_idle.eq(monitor.dma_idle),
            self.drained.eq(monitor.drained),
            self.idle.eq(monitor.idle),
        ]

    def _reduce(self, m: Module) -> None:
        """Connect the reduce unit, which the memory controller uses."""
        nmc = self._nmc
        wiring.connect(m, wiring.flipped(self.nmc_in), nmc.i)
        wiring.connect(m, nmc.o, wiring.flipped(self.nmc_out))
        owner, launches = self.nmc_in.p.owner, [view.launch_configuration for view in self.contexts]
        m.d.comb += [
            nmc.epoch.eq(select_at(owner, [launch.epoch for launch in launches])),
            nmc.accumulates.eq(select_at(owner, [launch.accumulate for launch in launches])),
            self.monitor.reduced.eq(Cat(self.nmc_in.valid, owner)),
        ]
