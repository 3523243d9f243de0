"""The seeded bugs, one table: what is put into which block."""

from .bug import SeededBug

__all__ = ["BUGS_OF_CONTEXTS", "MORE_TRACKER_BANKS", "SEEDED_BUGS", "bug_of"]

SEEDED_BUGS: tuple[SeededBug, ...] = (
    SeededBug(
        module="rtl.top",
        block="T3",
        fault="an abort of a context forgets the tiles of all",
        right="tracker.clear[number].eq(registers.abort)",
        wrong="tracker.clear[number].eq(Cat(c.abort for c in self.registers.context).any())",
    ),
    SeededBug(
        module="rtl.context.unit",
        block="ContextUnit",
        fault="a tile of a context that is aborting is not taken while the counts are cleared",
        right="complete.ready.eq(trigger.completions.ready | self.registers.aborting)",
        wrong="complete.ready.eq(trigger.completions.ready)",
    ),
    SeededBug(
        module="rtl.channel.address_map",
        block="LocationLookup",
        fault="the address space is not looked at",
        right="space.enable & (space.local == self.context)",
        wrong="space.enable",
    ),
    SeededBug(
        module="rtl.channel.address_map",
        block="RangeLookup",
        fault="a range holds one dispatch index more than it should",
        right="& (location.dispatch_index <= entry.last)",
        wrong="& (location.dispatch_index <= entry.last + 1)",
    ),
    SeededBug(
        module="rtl.registers.port",
        block="Registers",
        fault="a write into any context's page goes to all contexts",
        right="acts & bytes_written.all() & (address[PAGE_BITS:] == number)",
        wrong="acts & bytes_written.all() & (address[PAGE_BITS:].any() == (number > 0))",
    ),
    SeededBug(
        module="rtl.registers.context_page",
        block="ContextPage",
        fault="counts the end of a launch as long as it shows",
        right="self.done.eq(self.done + ends)",
        wrong="self.done.eq(self.done + context.done)",
    ),
    SeededBug(
        module="rtl.registers.global_page",
        block="GlobalPage",
        fault="patrols in every cycle if there is no interval",
        right="self.patrol.eq(ends & self._interval.any())",
        wrong="self.patrol.eq(ends)",
    ),
    SeededBug(
        module="rtl.channel.arbitration.arbiter",
        block="Arbiter",
        fault="no starvation rule",
        right="starved=self.starved,",
        wrong="starved=self.starved & 0,",
    ),
    SeededBug(
        module="rtl.link.control",
        block="ControlListener",
        fault="gives control words as packets, too",
        right="self.o.valid.eq(self.i.valid & ~item.control)",
        wrong="self.o.valid.eq(self.i.valid)",
    ),
    SeededBug(
        module="rtl.link.control",
        block="ControlTeller",
        fault="tells once more what it told last",
        right="control.word.eq(self.latest[turn])",
        wrong="control.word.eq(self.known[turn])",
    ),
    SeededBug(
        module="rtl.link.session",
        block="LinkSession",
        fault="does not wait for the last flits of a former session",
        right="(quiet | ready) & over & self.empty",
        wrong="(quiet | ready) & self.empty",
    ),
    SeededBug(
        module="rtl.link.receiver",
        block="LinkReceiver",
        fault="takes corrupt flits",
        right="intact.eq(self.i.valid & ~self.i.p.corrupt)",
        wrong="intact.eq(self.i.valid)",
    ),
    SeededBug(
        module="rtl.link.sender",
        block="LinkSender",
        fault="sends more than it has credits for",
        right="& (upcoming != self.limit)",
        wrong="",
    ),
    SeededBug(
        module="rtl.channel.issue_ack_queue",
        block="IssueAckQueue",
        fault="an acknowledgement joins the head, also while it is offered and when it leaves",
        right="for index in range(1, self._depth):",
        wrong="for index in range(self._depth):",
    ),
    SeededBug(
        module="rtl.lib.round_robin",
        block="Merge",
        fault="every stream is told that it is taken",
        right="source.ready.eq(self.o.ready & grant)",
        wrong="source.ready.eq(self.o.ready)",
    ),
    SeededBug(
        module="rtl.lib.round_robin",
        block="Merge2",
        fault="the first stream always goes first",
        right="m.d.sync += self.last.eq(pick_b)",
        wrong="m.d.sync += self.last.eq(1)",
    ),
    SeededBug(
        module="rtl.lib.round_robin",
        block="RoundRobinPick",
        fault="the pointer stays at the granted request",
        right="first.eq(self.grant.rotate_left(1))",
        wrong="first.eq(self.grant)",
    ),
    SeededBug(
        module="rtl.lib.queue",
        block="Queue",
        fault="takes what is offered also when it is full, over its oldest entry",
        right="self.i.ready.eq(self.level != depth)",
        wrong="self.i.ready.eq(1)",
    ),
    SeededBug(
        module="rtl.trigger.credit_window",
        block="CreditWindow",
        fault="the oldest passes one complete dispatch index for two",
        right="m.d.sync += self.oldest.eq(self.oldest + 1)",
        wrong="m.d.sync += self.oldest.eq(self.oldest + 2)",
    ),
    SeededBug(
        module="rtl.trigger.criticality",
        block="Criticality",
        fault="protects a kernel that may not dispatch",
        right="(self.active, self._runs & ~self._waits)",
        wrong="(self.active, self._runs)",
    ),
    SeededBug(
        module="rtl.trigger.congestion",
        block="Congestion",
        fault="looks at the first channel only",
        right="self.seen.eq(self.held_up.bit_select(self.turn, 1))",
        wrong="self.seen.eq(self.held_up[0])",
    ),
    SeededBug(
        module="rtl.lib.serial_product",
        block="SerialProduct",
        fault="gives a bit without its carry",
        right="self.o.eq(part[0] ^ low[0] ^ carries[0])",
        wrong="self.o.eq(part[0] ^ low[0])",
    ),
    SeededBug(
        module="rtl.channel.channel",
        block="Channel",
        fault="every store and packet is taken for one of the first context",
        right="lookup.context.eq(port.p.context),",
        wrong="lookup.context.eq(self.contexts[0].address_space.local),",
    ),
    SeededBug(
        module="rtl.dma.engine",
        block="DmaEngine",
        fault="of two segments for one lane, one is lost",
        right="walker.advance.eq(walker.valid & ~stops & (first[index] | ~here.any())),",
        wrong="walker.advance.eq(walker.valid & ~stops),",
    ),
    SeededBug(
        module="rtl.dma.lane",
        block="DmaLane",
        fault="reads an atom although no egress slot is free for it",
        right="& (self.used != p.egress_slots)",
        wrong="",
    ),
    SeededBug(
        module="rtl.nmc.unit",
        block="NmcUnit",
        fault="a result has the epoch of the cycle before it leaves",
        right="self.o.p.epoch.eq(epoch),",
        wrong="self.o.p.epoch.eq(self.epoch),",
    ),
    SeededBug(
        module="verification.proofs.ring_node",
        block="RingNode",
        fault="takes an incoming update only while its own link has room",
        right="goes.eq(inbound.o.valid),",
        wrong="goes.eq(inbound.o.valid & link.i.ready),",
    ),
    SeededBug(
        module="rtl.trigger.trigger",
        block="Trigger",
        fault="a workgroup counts as complete one tile too early",
        right="sums.full.eq((row.tiles + 1 == entry.waves) & ~self.fetch.row_lost)",
        wrong="sums.full.eq((row.tiles + 2 == entry.waves) & ~self.fetch.row_lost)",
    ),
    SeededBug(
        module="rtl.channel.issue_ack_buffer",
        block="IssueAckBuffer",
        fault="an issue acknowledgement goes straight through while others are still in the memory",
        right="straight = waiting.empty & self.o.ready",
        wrong="straight = ~waiting.o.valid & self.o.ready",
    ),
    SeededBug(
        module="rtl.lib.protected_memory",
        block="ProtectedMemory",
        fault="does not tell that a word is lost",
        right="self.lost.eq(check.lost)",
        wrong="self.lost.eq(0)",
    ),
    SeededBug(
        module="rtl.lib.memory_queue",
        block="MemoryQueue",
        fault="a payload that comes as another is read is not counted",
        right="with m.If(reads & ~put):",
        wrong="with m.If(reads):",
    ),
    SeededBug(
        module="rtl.lib.protected_queue",
        block="ProtectedQueue",
        fault="gives a payload that is lost",
        right="checked.drop.eq(check.lost)",
        wrong="checked.drop.eq(0)",
    ),
    SeededBug(
        module="rtl.lib.secded",
        block="SecdedCheck",
        fault="tells that it corrects a bit, but does not",
        right="Value.cast(self.o).eq(read ^ flips)",
        wrong="Value.cast(self.o).eq(read)",
    ),
    SeededBug(
        module="rtl.tracker.bank",
        block="TrackerBank",
        fault="fires one update after its threshold",
        right="update.change.eq(Mux(compared.end, ~compare.threshold, compared.count))",
        wrong="update.change.eq(Mux(compared.end, ~compare.threshold - 1, compared.count))",
    ),
    SeededBug(
        module="rtl.tracker.front",
        block="TrackerFront",
        fault="gives a bank events that it has no room for",
        right="grants.eq(Mux(self.room[bank], pick.grant, 0))",
        wrong="grants.eq(pick.grant)",
    ),
    SeededBug(
        module="rtl.tracker.table",
        block="TrackerTable",
        fault="a read does not see what is written in its cycle",
        right="by_earlier.eq(self.set_of_earlier & self.earlier_ways[way])",
        wrong="by_earlier.eq(0)",
    ),
)
"""One for each block that is proven."""

MORE_TRACKER_BANKS: tuple[SeededBug, ...] = (
    SeededBug(
        module="rtl.tracker.bank",
        block="TrackerBank",
        fault="keeps the entry of a tile that fires, which may fire again",
        right="self.write_ways.eq(Mux(self.updating & ~outcome.keep, ways, 0))",
        wrong="self.write_ways.eq(Mux(self.updating & ~outcome.keep & ~outcome.complete, ways, 0))",
    ),
    SeededBug(
        module="rtl.tracker.bank",
        block="TrackerBank",
        fault="writes a new tile over an entry of a full set",
        right="self.write_ways.eq(Mux(self.updating & ~outcome.keep, ways, 0))",
        wrong="self.write_ways.eq(Mux(self.updating & ~(update.no_atoms | outcome.second), "
        "Mux(outcome.full, 1, ways), 0))",
    ),
    SeededBug(
        module="rtl.tracker.bank",
        block="TrackerBank",
        fault="an event does not see the one of its tile just ahead",
        right="written.eq(same_tile & self.write_ways.any())",
        wrong="written.eq(0)",
    ),
    SeededBug(
        module="rtl.tracker.bank",
        block="TrackerBank",
        fault="an event does not see the one of its tile two ahead",
        right="compare.two_ahead_in_set.eq(self.set_of(two_ahead) == self.set_of(event))",
        wrong="compare.two_ahead_in_set.eq(0)",
    ),
    SeededBug(
        module="rtl.tracker.bank",
        block="TrackerBank",
        fault="loses the completion of a tile while another waits",
        right="completions.drop.eq(~outcome.complete)",
        wrong="completions.drop.eq(~outcome.complete | (self.o.valid & ~self.o.ready))",
    ),
    SeededBug(
        module="rtl.tracker.bank",
        block="TrackerBank",
        fault="does not free the entry of a tile with too many updates",
        right="entry.valid.eq(~outcome.gone)",
        wrong="entry.valid.eq(~outcome.complete)",
    ),
)
"""Further ways in which a tracker bank may go wrong."""

BUGS_OF_CONTEXTS: tuple[tuple[str, SeededBug], ...] = (
    (
        "abort-channel",
        SeededBug(
            module="rtl.channel.link_merge",
            block="LinkMerge",
            fault="remote stores and packets of an aborted context wait for the link",
            right="own.o.ready.eq((into.ready & room) | aborting)",
            wrong="own.o.ready.eq(into.ready & room)",
        ),
    ),
    (
        "abort-channel",
        SeededBug(
            module="rtl.channel.channel",
            block="Channel",
            fault="what comes of an aborted context counts as under way",
            right="happens(event, stream, location, location.counted, *conditions)",
            wrong="happens(event, stream, location, location.mapped, *conditions)",
        ),
    ),
    (
        "abort-unit",
        SeededBug(
            module="rtl.context.unit",
            block="ContextUnit",
            fault="an aborted context goes on until its commands are admitted",
            right="self.engine.aborting.eq(registers.aborting)",
            wrong="self.engine.aborting.eq(registers.abort)",
        ),
    ),
    (
        "abort-tracker-bank",
        SeededBug(
            module="rtl.tracker.walk",
            block="TableWalk",
            fault="a walk does not end if there is a clear in its last cycle",
            right="ends.eq(self.clears & ~self.checks)",
            wrong="ends.eq(self.clears & ~self.checks & ~self.clear.any())",
        ),
    ),
    (
        "isolation",
        SeededBug(
            module="rtl.top",
            block="T3",
            fault="every context gets the completions of all",
            right="unit.completions.valid.eq(complete.valid & here)",
            wrong="unit.completions.valid.eq(complete.valid)",
        ),
    ),
    (
        "isolation",
        SeededBug(
            module="rtl.channel.access_merge",
            block="AccessMerge",
            fault="every read returns into the first context's lane",
            right="Cat(lane.p.tag[: self._p.slot_bits], Const(number, 4))",
            wrong="Cat(lane.p.tag[: self._p.slot_bits], Const(0, 4))",
        ),
    ),
    (
        "isolation",
        SeededBug(
            module="rtl.channel.packet_check",
            block="PacketCheck",
            fault="a packet that is only to be written need not be in a region",
            right="keep.eq(location.mapped & ~packet.forbidden & ~stale & ~aborted),",
            wrong="keep.eq(~packet.forbidden & ~stale & ~aborted),",
        ),
    ),
    (
        "tracker-bank-contexts-2",
        SeededBug(
            module="rtl.tracker.bank",
            block="TrackerBank",
            fault="a clear forgets the tiles of every context",
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
            fault="two contexts' tiles with the same numbers are one",
            right="[_log2(self._p.sets) :], event.wavefront, event.owner)",
            wrong="[_log2(self._p.sets) :], event.wavefront, event.owner & 0)",
        ),
    ),
    (
        "tracker-bank-contexts-2",
        SeededBug(
            module="rtl.tracker.bank",
            block="TrackerBank",
            fault="a tile finds room in another context's ways",
            right="update.old_free.eq(~compare.valid & allowed)",
            wrong="update.old_free.eq(~compare.valid)",
        ),
    ),
    (
        "tracker-bank-contexts-2",
        SeededBug(
            module="rtl.tracker.bank",
            block="TrackerBank",
            fault="every tile is completed as of the first context",
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
            fault="the first context's ranges are everybody's",
            right="select_at(location.owner, of_each)",
            wrong="of_each[0]",
        ),
    ),
    (
        "channel-stores",
        SeededBug(
            module="rtl.channel.channel",
            block="Channel",
            fault="a remote store waits until the link has room for every context",
            right="wiring.connect(m, port, queue.i)",
            wrong="m.d.comb += [queue.i.p.eq(port.p), "
            "queue.i.valid.eq(port.valid & self.link_room.all()), "
            "port.ready.eq(queue.i.ready & self.link_room.all())]",
        ),
    ),
    (
        "channel-sinks-contexts-2",
        SeededBug(
            module="rtl.channel.channel",
            block="Channel",
            fault="takes an incoming packet only while the link has room for every context",
            right="wiring.connect(m, check.o, queues.updates.i)",
            wrong="m.d.comb += [queues.updates.i.p.eq(check.o.p), "
            "queues.updates.i.valid.eq(check.o.valid & self.link_room.all()), "
            "check.o.ready.eq(queues.updates.i.ready & self.link_room.all())]",
        ),
    ),
)
"""Ways in which one context gets in the way of another, and the proofs that must see them."""

_BY_BLOCK = {bug.block: bug for bug in SEEDED_BUGS}


def bug_of(block: str) -> SeededBug:
    """The seeded bug of a block, by the name of its class."""
    return _BY_BLOCK[block]
