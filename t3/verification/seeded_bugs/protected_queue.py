"""Protected queue that hides what is lost."""

from .bug import SeededBug

__all__ = ["PROTECTED_QUEUE"]

PROTECTED_QUEUE = SeededBug(
    module="rtl.lib.protected_queue",
    block="ProtectedQueue",
    fault="gives a payload that is lost",
    right="checked.drop.eq(check.lost)",
    wrong="checked.drop.eq(0)",
)
