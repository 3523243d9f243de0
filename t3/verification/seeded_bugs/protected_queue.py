"""Protected queue that hides what is lost."""

from .copy import BrokenCopy

__all__ = ["PROTECTED_QUEUE"]

PROTECTED_QUEUE = BrokenCopy(
    module="rtl.lib.protected_queue",
    block="ProtectedQueue",
    fault="gives a payload that is lost",
    right="checked.drop.eq(check.lost)",
    wrong="checked.drop.eq(0)",
)
