"""Table of the seeded bugs."""

from .bug import SeededBug

__all__ = ["MORE_TRACKER_BANKS", "SEEDED_BUGS", "bug_of"]

SEEDED_BUGS: tuple[SeededBug, ...] = (
    SeededBug(
        module="rtl.top",
        block="T3",
        fault="an abort of a context clears the tiles of all contexts",
        right="tracker.clear[number].eq(registers.abort)",
        wrong="tracker.clear[number].eq(Cat(c.abort for c in self.registers.context).any())",
    ),
    SeededBug(
        module="rtl.context.unit",
        block="ContextUnit",
        fault="an aborting context does not take completions while its counts are cleared",
        right="complete.ready.eq(trigger.completions.ready | self.registers.aborting)",
        wrong="complete.ready.eq(trigger.completions.ready)",
    ),
    SeededBug(
        module="rtl.channel.address_map",
        block="LocationLookup",
        fault="the address space is ignored",
        right="space.enable & (space.local == self.context)",
        wrong="space.enable",
    ),
    SeededBug(
        module="rtl.channel.address_map",
        block="RangeLookup",
        fault="a range holds one dispatch index more than it should",
        right="& (self.dispatch_index <= entry.last)",
        wrong="& (self.dispatch_index <= entry.last + 1)",
    ),
    SeededBug(
        module="rtl.registers.foreign_regions",
        block="ForeignRegions",
        fault="a region may overlap the last atom of another context's region",
        right="(base < claim.limit)",
        wrong="(base < claim.limit - 1)",
    ),
    SeededBug(
        module="rtl.registers.port",
        block="Registers",
        fault="a write to one context's page reaches all contexts",
        right="acts & self.written[number]",
        wrong="acts & (self.written[1:].any() if number else self.written[0])",
    ),
    SeededBug(
        module="rtl.registers.context_page",
        block="ContextPage",
        fault="counts the end of a launch in every cycle in which it is visible",
        right="self.done.eq(self.done + ends)",
        wrong="self.done.eq(self.done + context.done)",
    ),
    SeededBug(
        module="rtl.registers.launch_check",
        block="LaunchCheck",
        fault="accepts the generation of the launch before",
        right="self.launched & ((step == 0) | step[-1])",
        wrong="self.launched & step[-1]",
    ),
    SeededBug(
        module="rtl.registers.global_page",
        block="GlobalPage",
        fault="scrubs in every cycle if no interval is programmed",
        right="self.scrub.eq(ends & self._interval.any())",
        wrong="self.scrub.eq(ends)",
    ),
    SeededBug(
        module="rtl.channel.arbitration.arbiter",
        block="Arbiter",
        fault="ignores the starvation limit of communication",
        right="starved=self.starved,",
        wrong="starved=self.starved & 0,",
    ),
    SeededBug(
        module="rtl.link.control",
        block="ControlReceiver",
        fault="delivers control words as packets, too",
        right="self.o.valid.eq(self.i.valid & ~item.control)",
        wrong="self.o.valid.eq(self.i.valid)",
    ),
    SeededBug(
        module="rtl.link.control",
        block="ControlSender",
        fault="sends the last control word again",
        right="control.word.eq(self.latest[turn])",
        wrong="control.word.eq(self.known[turn])",
    ),
    SeededBug(
        module="rtl.link.session",
        block="LinkSession",
        fault="does not wait for the last flits of the previous session",
        right="(quiet | ready) & expired & self.empty",
        wrong="(quiet | ready) & self.empty",
    ),
    SeededBug(
        module="rtl.link.receiver",
        block="LinkReceiver",
        fault="accepts corrupt flits",
        right="intact.eq(self.i.valid & ~self.i.p.corrupt)",
        wrong="intact.eq(self.i.valid)",
    ),
    SeededBug(
        module="rtl.link.sender",
        block="LinkSender",
        fault="sends more packets than it has credits for",
        right="& (upcoming != self.limit)",
        wrong="",
    ),
    SeededBug(
        module="rtl.channel.issue_ack_queue",
        block="IssueAckQueue",
        fault="an acknowledgement merges into the head, even while the head is offered or leaves",
        right="for index in range(1, self._depth):",
        wrong="for index in range(self._depth):",
    ),
    SeededBug(
        module="rtl.lib.round_robin",
        block="Merge",
        fault="every stream is ready, not only the granted one",
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
        fault="accepts payloads while full and overwrites its oldest entry",
        right="self.i.ready.eq(self.level != depth)",
        wrong="self.i.ready.eq(1)",
    ),
    SeededBug(
        module="rtl.trigger.credit_window",
        block="CreditWindow",
        fault="the oldest dispatch index advances by two instead of one",
        right="m.d.sync += self.oldest.eq(self.oldest + 1)",
        wrong="m.d.sync += self.oldest.eq(self.oldest + 2)",
    ),
    SeededBug(
        module="rtl.trigger.criticality",
        block="Criticality",
        fault="is active for a kernel that may not dispatch",
        right="(self.active, self._runs & ~self._waits)",
        wrong="(self.active, self._runs)",
    ),
    SeededBug(
        module="rtl.trigger.congestion",
        block="Congestion",
        fault="samples the first channel only",
        right="self.seen.eq(self.held_up.bit_select(self.turn, 1))",
        wrong="self.seen.eq(self.held_up[0])",
    ),
    SeededBug(
        module="rtl.lib.serial_product",
        block="SerialProduct",
        fault="outputs a bit without its carry",
        right="self.o.eq(part[0] ^ low[0] ^ carries[0])",
        wrong="self.o.eq(part[0] ^ low[0])",
    ),
    SeededBug(
        module="rtl.channel.channel",
        block="Channel",
        fault="every store and packet counts as one of the first context",
        right="lookup.context.eq(port.p.context),",
        wrong="lookup.context.eq(self.contexts[0].address_space.local),",
    ),
    SeededBug(
        module="rtl.dma.engine",
        block="DmaEngine",
        fault="loses one of two segments for the same lane",
        right="walker.advance.eq(walker.valid & ~stops & (first[index] | ~here.any())),",
        wrong="walker.advance.eq(walker.valid & ~stops),",
    ),
    SeededBug(
        module="rtl.dma.lane",
        block="DmaLane",
        fault="reads an atom without a free egress slot",
        right="& (self.used != p.egress_slots)",
        wrong="",
    ),
    SeededBug(
        module="rtl.nmc.unit",
        block="NmcUnit",
        fault="a result has the epoch of a later request",
        right="self.o.p.epoch.eq(epoch),",
        wrong="self.o.p.epoch.eq(self.epoch),",
    ),
    SeededBug(
        module="verification.proofs.ring_node",
        block="RingNode",
        fault="accepts an incoming update only while its own link has space",
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
        fault="an issue acknowledgement bypasses others that are still in the memory",
        right="straight = waiting.empty & self.o.ready",
        wrong="straight = ~waiting.o.valid & self.o.ready",
    ),
    SeededBug(
        module="rtl.lib.protected_memory",
        block="ProtectedMemory",
        fault="does not report a lost word",
        right="self.lost.eq(check.lost)",
        wrong="self.lost.eq(0)",
    ),
    SeededBug(
        module="rtl.lib.memory_queue",
        block="MemoryQueue",
        fault="does not count a payload that arrives while another is read",
        right="with m.If(reads & ~put):",
        wrong="with m.If(reads):",
    ),
    SeededBug(
        module="rtl.lib.protected_queue",
        block="ProtectedQueue",
        fault="delivers a lost payload",
        right="checked.drop.eq(check.lost)",
        wrong="checked.drop.eq(0)",
    ),
    SeededBug(
        module="rtl.lib.secded",
        block="SecdedCheck",
        fault="reports a correction, but does not correct",
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
        fault="sends events to a bank without space",
        right="grants.eq(Mux(self.space[bank], pick.grant, 0))",
        wrong="grants.eq(pick.grant)",
    ),
    SeededBug(
        module="rtl.tracker.table",
        block="TrackerTable",
        fault="a read misses a write of the same cycle",
        right="by_earlier.eq(self.set_of_earlier & self.earlier_ways[way])",
        wrong="by_earlier.eq(0)",
    ),
)
"""One seeded bug for each proven block."""

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
        fault="an event misses the previous event of its tile",
        right="written.eq(same_tile & self.write_ways.any())",
        wrong="written.eq(0)",
    ),
    SeededBug(
        module="rtl.tracker.bank",
        block="TrackerBank",
        fault="an event misses the event of its tile two cycles ahead",
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
        right="entry.valid.eq(~outcome.freed)",
        wrong="entry.valid.eq(~outcome.complete)",
    ),
)
"""Further seeded bugs of the tracker bank."""

_BY_BLOCK = {bug.block: bug for bug in SEEDED_BUGS}


def bug_of(block: str) -> SeededBug:
    """Find the seeded bug of a block by the name of its class."""
    return _BY_BLOCK[block]
