"""Table of seeded bugs in which contexts interfere."""

from .bug import SeededBug

__all__ = ["BUGS_OF_CONTEXTS"]

BUGS_OF_CONTEXTS: tuple[tuple[str, SeededBug], ...] = (
    (
        "end-queue",
        SeededBug(
            module="rtl.channel.end_queue",
            block="EndQueue",
            fault="passes the markers that the check of packets drops to the tracker",
            right="queue.drop.eq(merge.b.ready & self.drop)",
            wrong="queue.drop.eq(0)",
        ),
    ),
    (
        "abort-channel",
        SeededBug(
            module="rtl.channel.link_merge",
            block="LinkMerge",
            fault="remote stores and packets of an aborted context wait for the link",
            right="own.o.ready.eq((into.ready & self.space[number]) | drops)",
            wrong="own.o.ready.eq(into.ready & self.space[number])",
        ),
    ),
    (
        "abort-channel",
        SeededBug(
            module="rtl.channel.channel",
            block="Channel",
            fault="accesses of an aborted context count as outstanding",
            right="accepted = ~self._packet_check.drop",
            wrong="accepted = 1",
        ),
    ),
    (
        "waiting-packets",
        SeededBug(
            module="rtl.channel.monitor",
            block="ChannelMonitor",
            fault="a second packet from before a change is not waited for",
            right="m.d.sync += older.eq(older - 1)",
            wrong="m.d.sync += older.eq(0)",
        ),
    ),
    (
        "abort-unit",
        SeededBug(
            module="rtl.context.unit",
            block="ContextUnit",
            fault="an aborted context waits until its commands are admitted",
            right="self.engine.aborting.eq(registers.aborting)",
            wrong="self.engine.aborting.eq(registers.abort)",
        ),
    ),
    (
        "abort-tracker-bank",
        SeededBug(
            module="rtl.tracker.walk",
            block="TableWalk",
            fault="a walk does not end if a clear comes in its last cycle",
            right="ends.eq(self.clears & ~self.checks)",
            wrong="ends.eq(self.clears & ~self.checks & ~self.clear.any())",
        ),
    ),
    (
        "isolation",
        SeededBug(
            module="rtl.top",
            block="T3",
            fault="every context receives the completions of all contexts",
            right="unit.completions.valid.eq(complete.valid & here)",
            wrong="unit.completions.valid.eq(complete.valid)",
        ),
    ),
    (
        "isolation",
        SeededBug(
            module="rtl.channel.access_merge",
            block="AccessMerge",
            fault="every read returns to the lane of the first context",
            right="Cat(lane.p.tag[: self._p.slot_bits], Const(number, 4))",
            wrong="Cat(lane.p.tag[: self._p.slot_bits], Const(0, 4))",
        ),
    ),
    (
        "isolation",
        SeededBug(
            module="rtl.channel.packet_check",
            block="PacketCheck",
            fault="a packet with a plain write may lie outside every region",
            right="keep.eq(location.mapped & permitted & ~stale & ~aborted),",
            wrong="keep.eq(permitted & ~stale & ~aborted),",
        ),
    ),
    (
        "tracker-bank-contexts-2",
        SeededBug(
            module="rtl.tracker.bank",
            block="TrackerBank",
            fault="a clear removes the tiles of every context",
            right="~kept.valid | self._is_of(walk.forgetting, self._owner_of(kept.tag))",
            wrong="~kept.valid | walk.forgetting.any()",
        ),
    ),
    (
        "tracker-bank-contexts-2",
        SeededBug(
            module="rtl.tracker.bank",
            block="TrackerBank",
            fault="a clear drops the events of every context",
            right="return ~self._is_of(self.clear, event.owner)",
            wrong="return ~self.clear.any()",
        ),
    ),
    (
        "tracker-bank-contexts-2",
        SeededBug(
            module="rtl.tracker.bank",
            block="TrackerBank",
            fault="a walk begins while events are in the stages",
            right="walk.busy.eq(table.clearing | stages)",
            wrong="walk.busy.eq(table.clearing)",
        ),
    ),
    (
        "tracker-bank-contexts-2",
        SeededBug(
            module="rtl.tracker.bank",
            block="TrackerBank",
            fault="tiles of two contexts with the same numbers share an entry",
            right="[_log2(self._p.sets) :], event.wavefront, event.owner)",
            wrong="[_log2(self._p.sets) :], event.wavefront, event.owner & 0)",
        ),
    ),
    (
        "tracker-bank-contexts-2",
        SeededBug(
            module="rtl.tracker.bank",
            block="TrackerBank",
            fault="a tile gets an entry in another context's ways",
            right="update.old_free.eq(~compare.valid & allowed)",
            wrong="update.old_free.eq(~compare.valid)",
        ),
    ),
    (
        "tracker-bank-contexts-2",
        SeededBug(
            module="rtl.tracker.bank",
            block="TrackerBank",
            fault="every completion belongs to the first context",
            right="Cat(event.owner, event.dispatch_index, event.wavefront, entry.start, "
            "entry.edges)",
            wrong="Cat(event.owner & 0, event.dispatch_index, event.wavefront, entry.start, "
            "entry.edges)",
        ),
    ),
    (
        "address-map-strangers",
        SeededBug(
            module="rtl.channel.address_map",
            block="RangeLookup",
            fault="all contexts use the ranges of the first context",
            right="select_at(location.owner, of_each)",
            wrong="of_each[0]",
        ),
    ),
    (
        "channel-stores",
        SeededBug(
            module="rtl.channel.channel",
            block="Channel",
            fault="a remote store waits until the link has space for every context",
            right="wiring.connect(m, port, queue.i)",
            wrong="m.d.comb += [queue.i.p.eq(port.p), "
            "queue.i.valid.eq(port.valid & self.link_space.all()), "
            "port.ready.eq(queue.i.ready & self.link_space.all())]",
        ),
    ),
    (
        "channel-sinks-contexts-2",
        SeededBug(
            module="rtl.channel.channel",
            block="Channel",
            fault="accepts an incoming packet only while the link has space for every context",
            right="wiring.connect(m, check.o, queues.updates.i)",
            wrong="m.d.comb += [queues.updates.i.p.eq(check.o.p), "
            "queues.updates.i.valid.eq(check.o.valid & self.link_space.all()), "
            "check.o.ready.eq(queues.updates.i.ready & self.link_space.all())]",
        ),
    ),
    (
        "noninterference-packet-check",
        SeededBug(
            module="rtl.channel.packet_check",
            block="PacketCheck",
            fault="an abort of any context drops the packets of all",
            right="aborted, keep = is_aborted(admissions, location), Signal()",
            wrong="aborted, keep = Cat(one.aborting for one in admissions).any(), Signal()",
        ),
    ),
    (
        "noninterference-packet-check",
        SeededBug(
            module="rtl.channel.packet_check",
            block="PacketCheck",
            fault="packets of every context are admitted by the first one's credit limit",
            right="ahead.eq(is_ahead(admissions, location, packet.slot))",
            wrong="ahead.eq(packet.slot >= admissions[0].credit_limit)",
        ),
    ),
    (
        "noninterference-packet-check",
        SeededBug(
            module="rtl.channel.packet_check",
            block="PacketCheck",
            fault="packets of every context are judged by the first one's generation",
            right="of_launch = is_of_launch(admissions, location, packet.generation)",
            wrong="of_launch = is_of_launch([admissions[0]] * 2, location, packet.generation)",
        ),
    ),
    (
        "noninterference-store-check",
        SeededBug(
            module="rtl.channel.store_check",
            block="StoreCheck",
            fault="an abort of any context drops the stores of all",
            right="is_updated(self.action), is_aborted(admissions, location)",
            wrong="is_updated(self.action), Cat(one.aborting for one in admissions).any()",
        ),
    ),
    (
        "noninterference-store-check",
        SeededBug(
            module="rtl.channel.store_check",
            block="StoreCheck",
            fault="stores of every context are admitted by the first one's credit limit",
            right="ahead.eq(is_ahead(admissions, location, store.dispatch_index))",
            wrong="ahead.eq(store.dispatch_index >= admissions[0].credit_limit)",
        ),
    ),
    (
        "noninterference-inbound-lookup",
        SeededBug(
            module="rtl.channel.inbound_lookup",
            block="InboundLookup",
            fault="the inbound table of the first context counts for all",
            right="self.forbidden.eq(~select_at(self.packet.location.owner, takes))",
            wrong="self.forbidden.eq(~takes[0])",
        ),
    ),
    (
        "noninterference-store-router",
        SeededBug(
            module="rtl.channel.store_router",
            block="StoreRouter",
            fault="a remote store waits until the queues of all contexts have space",
            right="self.i.ready.eq(select_at(store.owner, ready) | refuses)",
            wrong="self.i.ready.eq(Cat(ready).all() | refuses)",
        ),
    ),
    (
        "noninterference-store-router",
        SeededBug(
            module="rtl.channel.store_router",
            block="StoreRouter",
            fault="an abort of any context drops the remote stores of all",
            right="port.valid.eq(self.i.valid & (store.owner == number) & ~drops)",
            wrong="port.valid.eq(self.i.valid & (store.owner == number) & ~drops "
            "& ~Cat(table.aborting for table in self.tables).any())",
        ),
    ),
    (
        "noninterference-link-merge",
        SeededBug(
            module="rtl.channel.link_merge",
            block="LinkMerge",
            fault="an abort of any context drops the packets of all",
            right="drops.eq(table.aborting | ~waiting.any())",
            wrong="drops.eq(Cat(one.aborting for one in self.tables).any() | ~waiting.any())",
        ),
    ),
    (
        "noninterference-monitor",
        SeededBug(
            module="rtl.channel.monitor",
            block="ChannelMonitor",
            fault="every context waits for the stores of all contexts",
            right="return Cat(event.valid & (event.owner == number) for event in events)",
            wrong="return Cat(event.valid for event in events)",
        ),
    ),
    (
        "isolation",
        SeededBug(
            module="rtl.top",
            block="T3",
            fault="a completion is lost while the first context aborts",
            right="unit.completions.valid.eq(complete.valid & here)",
            wrong="unit.completions.valid.eq(complete.valid & here & "
            "~self.contexts[0].view.aborting)",
        ),
    ),
    (
        "isolation",
        SeededBug(
            module="rtl.top",
            block="T3",
            fault="only the first context's criticality reaches the arbiters",
            right="of_all = Cat(getattr(unit, name) for unit in contexts)",
            wrong="of_all = Cat(getattr(unit, name) for unit in contexts[:1])",
        ),
    ),
    (
        "isolation",
        SeededBug(
            module="rtl.channel.channel",
            block="Channel",
            fault="the data of a return go into every context's lane",
            right="self.returns.valid & (slot[self._p.slot_bits :] == number)",
            wrong="self.returns.valid",
        ),
    ),
    (
        "isolation",
        SeededBug(
            module="rtl.channel.channel",
            block="Channel",
            fault="an abort of any context empties the lanes of all",
            right="lane.aborting.eq(self.contexts[number].aborting)",
            wrong="lane.aborting.eq(Cat(view.aborting for view in self.contexts).any())",
        ),
    ),
)
"""Seeded bugs in which contexts interfere, each with the proof that must find it."""
