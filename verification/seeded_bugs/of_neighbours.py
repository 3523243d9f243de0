"""Table of seeded bugs in which one context decides for another."""

from .bug import SeededBug

__all__ = ["BUGS_OF_NEIGHBOURS", "BUGS_OF_REGISTERS"]

BUGS_OF_NEIGHBOURS: tuple[tuple[str, SeededBug], ...] = (
    (
        "address-map-strangers",
        SeededBug(
            module="rtl.channel.address_map",
            block="RangeLookup",
            fault="the wavefronts of every context are those of the first one's commands",
            right="[view.wavefronts[index] for view in views]",
            wrong="[views[0].wavefronts[index] for view in views]",
        ),
    ),
    (
        "address-map-strangers",
        SeededBug(
            module="rtl.channel.address_map",
            block="LocationLookup",
            fault="an abort of any context makes the requests of all uncounted",
            right="location.counted.eq(mapped & ~aborting)",
            wrong="location.counted.eq(mapped & ~Cat(v.aborting for v in contexts).any())",
        ),
    ),
    (
        "noninterference-packet-check",
        SeededBug(
            module="rtl.channel.packet_check",
            block="PacketCheck",
            fault="packets of every context are late for the first one's window",
            right="late.eq(is_late(admissions, location, packet.slot))",
            wrong="late.eq(packet.slot < admissions[0].oldest)",
        ),
    ),
    (
        "noninterference-packet-check",
        SeededBug(
            module="rtl.channel.packet_check",
            block="PacketCheck",
            fault="the former launch of any context admits the copies of all",
            right="of_former = is_of_former(admissions, location, packet.generation)",
            wrong="of_former = is_of_former([admissions[0]] * 2, location, packet.generation)",
        ),
    ),
    (
        "noninterference-store-check",
        SeededBug(
            module="rtl.channel.store_check",
            block="StoreCheck",
            fault="every error of a store is reported to the first context",
            right="self.report.owner.eq(location.owner)",
            wrong="self.report.owner.eq(0)",
        ),
    ),
    (
        "noninterference-store-router",
        SeededBug(
            module="rtl.channel.store_router",
            block="StoreRouter",
            fault="the slots of all contexts are shifted like the first one's",
            right='one_hot_select(ranges, self._of_ranges("slot_offset"))',
            wrong="one_hot_select(ranges, [one.slot_offset for one in self.tables[0].ranges] * 2)",
        ),
    ),
    (
        "address-map-strangers",
        SeededBug(
            module="rtl.channel.address_map",
            block="LocationLookup",
            fault="packets for the second context count as unowned",
            right="self.unowned.eq(~owner.any())",
            wrong="self.unowned.eq(~owner[0])",
        ),
    ),
    (
        "noninterference-link-merge",
        SeededBug(
            module="rtl.channel.link_merge",
            block="LinkMerge",
            fault="every packet on its way to the link counts as one of the first context",
            right="into.p.owner.eq(number)",
            wrong="into.p.owner.eq(0)",
        ),
    ),
    (
        "noninterference-link-merge",
        SeededBug(
            module="rtl.channel.link_merge",
            block="LinkMerge",
            fault="the packets of all contexts go to the first one's peers",
            right="[peer.gpu for peer in peers]",
            wrong="[peer.gpu for peer in self.tables[0].peers]",
        ),
    ),
    (
        "noninterference-monitor",
        SeededBug(
            module="rtl.channel.monitor",
            block="ChannelMonitor",
            fault="every context waits until the lanes of all are idle",
            right="none & copies.none & self.lane_idle[number] & ~self.remote[number]",
            wrong="none & copies.none & self.lane_idle.all() & ~self.remote[number]",
        ),
    ),
    (
        "noninterference-monitor",
        SeededBug(
            module="rtl.channel.monitor",
            block="ChannelMonitor",
            fault="every context waits for the reduce requests of all contexts",
            right="unreduced.begin.eq(mine(self.updated))",
            wrong="unreduced.begin.eq(self.updated.valid)",
        ),
    ),
    (
        "noninterference-monitor",
        SeededBug(
            module="rtl.channel.monitor",
            block="ChannelMonitor",
            fault="only the first context waits for what the memory owes from before a reset",
            right="~self.remote[number] & ~self.stale",
            wrong="~self.remote[number] & ~(self.stale if number == 0 else 0)",
        ),
    ),
    (
        "tracker-bank-contexts-2",
        SeededBug(
            module="rtl.tracker.bank",
            block="TrackerBank",
            fault="an abort of any context drops the updates of all",
            right="~self._is_of(self.clearing | self.aborting, self.i.p.owner)",
            wrong="~(self.clearing | self.aborting).any()",
        ),
    ),
    (
        "tracker-bank-contexts-2",
        SeededBug(
            module="rtl.tracker.bank",
            block="TrackerBank",
            fault="an event takes the entry of another context's event ahead of it",
            right="compared.dispatch_index, compared.wavefront, compared.owner",
            wrong="compared.dispatch_index, compared.wavefront, updated.owner",
        ),
    ),
    (
        "tracker-front",
        SeededBug(
            module="rtl.tracker.front",
            block="TrackerFront",
            fault="a context is empty while only another one's events are counted",
            right="waits = (queue.waits[number] for queue in self.candidates)",
            wrong="waits = (queue.waits[0] for queue in self.candidates)",
        ),
    ),
    (
        "tracker-front",
        SeededBug(
            module="rtl.tracker.front",
            block="TrackerFront",
            fault="every context waits for the events of all",
            right="waits = (queue.waits[number] for queue in self.candidates)",
            wrong="waits = (queue.waits.any() for queue in self.candidates)",
        ),
    ),
    (
        "issue-ack-queue-4-contexts-2",
        SeededBug(
            module="rtl.channel.issue_ack_queue",
            block="IssueAckQueue",
            fault="acknowledgements of two contexts' tiles with the same numbers are merged",
            right="                & (entry.owner == issue_ack.owner)\n",
            wrong="",
        ),
    ),
    (
        "foreign-regions",
        SeededBug(
            module="rtl.registers.foreign_regions",
            block="ForeignRegions",
            fault="compares a region with the regions of earlier contexts only",
            right="hits = [\n            ~own & claim.enable",
            wrong="hits = [\n            (self.page > 1) & ~own & claim.enable",
        ),
    ),
    (
        "registers",
        SeededBug(
            module="rtl.registers.port",
            block="Registers",
            fault="compares an address space with those of earlier contexts only",
            right="others = has[:number] + has[number + 1 :]",
            wrong="others = has[:number]",
        ),
    ),
    (
        "error-priority-encoder",
        SeededBug(
            module="rtl.registers.error_priority_encoder",
            block="ErrorPriorityEncoder",
            fault="errors of unowned packets go to the first context",
            right="error.valid & ~error.report.unowned & (error.report.owner == number)",
            wrong="error.valid & (error.report.owner == number)",
        ),
    ),
)
"""Seeded bugs in which one context decides for another, each with the proof that must find it."""

BUGS_OF_REGISTERS: tuple[SeededBug, ...] = (
    SeededBug(
        module="rtl.registers.port",
        block="Registers",
        fault="a region of the second context is checked as the first one's",
        right="page[number].eq(self.written[number + CONTEXT])",
        wrong="page[number].eq(self.written[CONTEXT])",
    ),
    SeededBug(
        module="rtl.registers.context_page",
        block="ContextPage",
        fault="any program may let its region overlap another context's",
        right='share = self.port.privileged & word[commit["share"].low]',
        wrong='share = word[commit["share"].low]',
    ),
    SeededBug(
        module="rtl.registers.region_hold",
        block="RegionHold",
        fault="another context may take the regions of one that aborts",
        right="closed, in_use = self.closed, self.launched | self.aborting",
        wrong="closed, in_use = self.closed, self.launched",
    ),
    SeededBug(
        module="rtl.registers.context_page",
        block="ContextPage",
        fault="epochs restart under a running launch, so that its tags come again",
        right='self._accepts(m, part["restart"], self._busy)',
        wrong='self._accepts(m, part["restart"], self.pending)',
    ),
)
"""Seeded bugs of the registers of several contexts, which the registers' own tests must find."""
