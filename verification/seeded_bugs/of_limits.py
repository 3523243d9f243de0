"""Table of seeded bugs of the range limits."""

from .bug import SeededBug

__all__ = ["BUGS_OF_LIMITS"]


def _bug(fault: str, right: str, wrong: str) -> SeededBug:
    return SeededBug(
        module="rtl.trigger.range_limits",
        block="RangeLimits",
        fault=fault,
        right=right,
        wrong=wrong,
    )


BUGS_OF_LIMITS: tuple[tuple[str, SeededBug], ...] = (
    (
        "range-limits",
        _bug(
            "takes the highest of the peers' bounds",
            "lower.eq(Mux(less_than(a, b), a, b))",
            "lower.eq(Mux(less_than(a, b), b, a))",
        ),
    ),
    (
        "range-limits",
        _bug(
            "sends without credit before the first slot",
            "with m.If(~self.least.any() | difference[-1]):",
            "with m.If(difference[-1]):",
        ),
    ),
    (
        "range-limits",
        _bug(
            "the last range alone decides on dispatch",
            'name="lowest_now"), self.merged[0]',
            'name="lowest_now"), self.merged[-1]',
        ),
    ),
    (
        "range-limits",
        _bug(
            "a launch inherits the limits of the one before",
            "                self.limits.eq(0),\n",
            "",
        ),
    ),
    (
        "clock-gating-range-limits",
        _bug(
            "its clock stops through a change",
            "Cat(self._changes, *turns).any()",
            "Cat(*turns).any()",
        ),
    ),
)
"""Seeded bugs of the range limits, each with the proof that must find it; the block's own tests
find them, too, with the clock stopped while it is not enabled.
"""
