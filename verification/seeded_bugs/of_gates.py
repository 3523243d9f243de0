"""Table of seeded bugs of the dispatch gates."""

from .bug import SeededBug

__all__ = ["BUGS_OF_GATES"]

_EARLY, _OPEN = "dispatch-gate-early", "dispatch-gate-open"


def _bug(fault: str, right: str, wrong: str) -> SeededBug:
    return SeededBug(
        module="rtl.trigger.dispatch_gate",
        block="DispatchGate",
        fault=fault,
        right=right,
        wrong=wrong,
    )


def _of_progress(fault: str, right: str, wrong: str) -> tuple[str, SeededBug]:
    bug = SeededBug(
        module="rtl.context.external_status",
        block="ExternalStatus",
        fault=fault,
        right=right,
        wrong=wrong,
    )
    return "external-status-progress", bug


def _of_reports(fault: str, right: str, wrong: str) -> tuple[str, SeededBug]:
    bug = SeededBug(
        module="rtl.trigger.credit_window",
        block="CreditWindow",
        fault=fault,
        right=right,
        wrong=wrong,
    )
    return "credit-window-reports", bug


BUGS_OF_GATES: tuple[tuple[str, SeededBug], ...] = (
    (
        _EARLY,
        _bug(
            "another launch of the awaited context releases",
            "progress.valid & (ahead == 0) & ~less_than",
            "progress.valid & ~less_than",
        ),
    ),
    (
        _EARLY,
        _bug(
            "a band is released with the slot before",
            "less_than(progress.oldest, slot)",
            "less_than(progress.oldest + 1, slot)",
        ),
    ),
    (
        _EARLY,
        _bug(
            "an abort while the launch was pending is forgotten",
            "self.lost.eq(self.lost_next | strobes)",
            "self.lost.eq(strobes)",
        ),
    ),
    (
        _OPEN,
        _bug(
            "a release brings no further walk",
            "((strobes | moves) & named).any() | self.releases",
            "((strobes | moves) & named).any()",
        ),
    ),
    (
        "noninterference-dispatch-gate",
        _bug(
            "a context without permission releases",
            "context.eq(named & self.may_await)",
            "context.eq(named)",
        ),
    ),
    _of_progress(
        "the slots of the launch before are shown with the next generation",
        "self.launched & ~self.launch & ~self.aborting",
        "self.launched & ~self.aborting",
    ),
    _of_progress(
        "launches stay complete through an abort",
        "with m.If(~self.aborting):",
        "with m.If(self.clock_enable | ~self.clock_enable):",
    ),
    _of_progress(
        "complete launches move by one, whatever the generation is",
        "(ended << self._step())",
        "(ended << 1)",
    ),
    _of_reports(
        "progress is reported a slot after each step",
        "(configuration.report_log2 > bit) & ~oldest[bit]",
        "(configuration.report_log2 > bit) & oldest[bit]",
    ),
    _of_reports(
        "the end of a launch is not reported",
        "~low.any() | (following == configuration.tracked_end)",
        "~low.any()",
    ),
    _of_reports(
        "progress is reported although no software asked",
        "self.moves & self.launched & ~self.launch & configuration.reports_steps",
        "self.moves & self.launched & ~self.launch",
    ),
    _of_reports(
        "progress is reported after an abort",
        "self.moves & self.launched & ~self.launch & configuration.reports_steps",
        "self.moves & ~self.launch & configuration.reports_steps",
    ),
)
"""Seeded bugs of the gates, of the progress that they await and of its reports, each with the proof
that must find it; the block's own tests find them, too.
"""
