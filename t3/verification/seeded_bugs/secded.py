"""Check of a memory's word that corrects nothing."""

from .bug import SeededBug

__all__ = ["SECDED_CHECK"]

SECDED_CHECK = SeededBug(
    module="rtl.lib.secded",
    block="SecdedCheck",
    fault="tells that it corrects a bit, but does not",
    right="Value.cast(self.o).eq(read ^ flips)",
    wrong="Value.cast(self.o).eq(read)",
)
