"""Table of seeded bugs of the error path."""

from .bug import SeededBug

__all__ = ["BUGS_OF_ERRORS"]

BUGS_OF_ERRORS: tuple[tuple[str, SeededBug], ...] = (
    (
        "error-priority-encoder",
        SeededBug(
            module="rtl.registers.error_priority_encoder",
            block="ErrorPriorityEncoder",
            fault="errors of the second context are lost if the first has one in the same cycle",
            right="self._collect(m, errors, [*valid, *owned], codes, out)",
            wrong="self._collect(m, errors, [bit & ~(self.contexts[0].valid if number else 0) "
            "for bit in [*valid, *owned]], codes, out)",
        ),
    ),
    (
        "error-priority-encoder",
        SeededBug(
            module="rtl.registers.error_priority_encoder",
            block="ErrorPriorityEncoder",
            fault="only the kind of the reported error is collected",
            right="kinds[code].append(bit if only else bit & (error.report.code == code))",
            wrong="kinds[code].append(bit & (out.report.code == code))",
        ),
    ),
    (
        "clock-gating-error-priority-encoder",
        SeededBug(
            module="rtl.registers.error_priority_encoder",
            block="ErrorPriorityEncoder",
            fault="its clock stops with the errors of the last cycle",
            right="self.clock_enable.eq(Cat(come, came).any())",
            wrong="self.clock_enable.eq(Cat(come).any())",
        ),
    ),
    (
        "error-log",
        SeededBug(
            module="rtl.registers.error_log",
            block="ErrorLog",
            fault="errors of packets take all places",
            right="space.eq(Mux(rare, level != ERROR_LOG_DEPTH, level < FREQUENT_LOG_DEPTH))",
            wrong="space.eq(level != ERROR_LOG_DEPTH)",
        ),
    ),
    (
        "error-log",
        SeededBug(
            module="rtl.registers.error_log",
            block="ErrorLog",
            fault="counts the reported kind only",
            right="is_kind.eq(Cat(self.error.kinds[kind.value] for kind in self.kinds))",
            wrong="is_kind.eq(Cat(self.error.report.code == kind for kind in self.kinds))",
        ),
    ),
    (
        "clock-gating-error-log",
        SeededBug(
            module="rtl.registers.error_log",
            block="ErrorLog",
            fault="its clock stops before it has counted",
            right="self.error.valid | counting | self.clear | self.drop",
            wrong="self.error.valid | self.clear | self.drop",
        ),
    ),
    (
        "link-errors",
        SeededBug(
            module="rtl.link.errors",
            block="LinkErrors",
            fault="the lowest link always goes first",
            right="pick.take.eq(1)",
            wrong="pick.take.eq(0)",
        ),
    ),
    (
        "link-errors",
        SeededBug(
            module="rtl.link.errors",
            block="LinkErrors",
            fault="loses an error that comes while another one waits",
            right="waiting.eq((waiting & ~pick.grant) | comes)",
            wrong="waiting.eq(Mux(waiting.any(), waiting & ~pick.grant, comes))",
        ),
    ),
    (
        "clock-gating-link-errors",
        SeededBug(
            module="rtl.link.errors",
            block="LinkErrors",
            fault="its clock stops while errors wait",
            right="self.clock_enable.eq(waiting.any() | comes.any())",
            wrong="self.clock_enable.eq(comes.any())",
        ),
    ),
    (
        "peer-status",
        SeededBug(
            module="rtl.context.peer_status",
            block="PeerStatus",
            fault="reports an abort again whenever its signal rises",
            right="(self.seen, ~self.launch & (self.seen | reports))",
            wrong="(self.seen, shows & ~self.launch)",
        ),
    ),
    (
        "peer-status",
        SeededBug(
            module="rtl.context.peer_status",
            block="PeerStatus",
            fault="reports no abort of the launch behind one that was aborted",
            right="(self.seen, ~self.launch & (self.seen | reports))",
            wrong="(self.seen, self.seen | reports)",
        ),
    ),
    (
        "peer-status-distance",
        SeededBug(
            module="rtl.context.peer_status",
            block="PeerStatus",
            fault="takes a peer far behind for one that is ahead",
            right="stays_near = self.is_near & ~(self.launch & before[-1])",
            wrong="stays_near = self.is_near",
        ),
    ),
    (
        "external-status-aborts",
        SeededBug(
            module="rtl.context.external_status",
            block="ExternalStatus",
            fault="forgets an abort as the next launch begins",
            right="(self.aborted << self._step())[:ABORT_BITS]",
            wrong="0",
        ),
    ),
    (
        "external-status-losses",
        SeededBug(
            module="rtl.context.external_status",
            block="ExternalStatus",
            fault="reports no loss behind a copy after one before it",
            right="(self.seen, ~(self.launch | self.copies) & (self.seen | self.lost))",
            wrong="(self.seen, ~self.launch & (self.seen | self.lost))",
        ),
    ),
    (
        "external-status-losses",
        SeededBug(
            module="rtl.context.external_status",
            block="ExternalStatus",
            fault="reports every lost packet",
            right="self.reports_loss.eq(self.lost & ~self.seen)",
            wrong="self.reports_loss.eq(self.lost)",
        ),
    ),
    (
        "external-status-losses",
        SeededBug(
            module="rtl.context.external_status",
            block="ExternalStatus",
            fault="a loss counts for a launch that begins in its cycle",
            right="(self.seen, ~(self.launch | self.copies) & (self.seen | self.lost))",
            wrong="(self.seen, (~(self.launch | self.copies) & self.seen) | self.lost)",
        ),
    ),
    (
        "clock-gating-outside-view",
        SeededBug(
            module="rtl.context.external_status",
            block="ExternalStatus",
            fault="its clock stops through the fall of the strobe of progress",
            right="Cat(register != following for register, following in registers)",
            wrong="Cat(~register & following if register is self.progresses "
            "else register != following for register, following in registers)",
        ),
    ),
    (
        "clock-gating-peer-status",
        SeededBug(
            module="rtl.context.peer_status",
            block="PeerStatus",
            fault="its clock stops through the fall of an abort's strobe",
            right="Cat(register != following for register, following in registers)",
            wrong="Cat(~register & following if register is self.aborts "
            "else register != following for register, following in registers)",
        ),
    ),
)
"""Seeded bugs of the error path, each with the proof that must find it; the blocks' own tests find
them, too, with the clock stopped while it is not enabled.
"""
