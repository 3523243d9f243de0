"""Merges that are not fair."""

from .bug import SeededBug

__all__ = ["MERGE", "MERGE2", "PICK"]

MERGE2 = SeededBug(
    module="rtl.lib.round_robin",
    block="Merge2",
    fault="the first stream always goes first",
    right="m.d.sync += self.last.eq(pick_b)",
    wrong="m.d.sync += self.last.eq(1)",
)
PICK = SeededBug(
    module="rtl.lib.round_robin",
    block="RoundRobinPick",
    fault="the pointer stays at the granted request",
    right="first.eq(self.grant.rotate_left(1))",
    wrong="first.eq(self.grant)",
)
MERGE = SeededBug(
    module="rtl.lib.round_robin",
    block="Merge",
    fault="every stream is told that it is taken",
    right="source.ready.eq(self.o.ready & grant)",
    wrong="source.ready.eq(self.o.ready)",
)
