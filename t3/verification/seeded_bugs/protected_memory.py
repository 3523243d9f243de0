"""Protected memory that hides what is lost."""

from .copy import BrokenCopy

__all__ = ["PROTECTED_MEMORY"]

PROTECTED_MEMORY = BrokenCopy(
    module="rtl.lib.protected_memory",
    block="ProtectedMemory",
    fault="does not tell that a word is lost",
    right="self.lost.eq(check.lost)",
    wrong="self.lost.eq(0)",
)
