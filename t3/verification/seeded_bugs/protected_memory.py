"""Protected memory that hides what is lost."""

from .bug import SeededBug

__all__ = ["PROTECTED_MEMORY"]

PROTECTED_MEMORY = SeededBug(
    module="rtl.lib.protected_memory",
    block="ProtectedMemory",
    fault="does not tell that a word is lost",
    right="self.lost.eq(check.lost)",
    wrong="self.lost.eq(0)",
)
