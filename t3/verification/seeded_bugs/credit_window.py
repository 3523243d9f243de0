"""Credit window that forgets to wait."""

from .copy import BrokenCopy

__all__ = ["CREDIT_WINDOW"]

CREDIT_WINDOW = BrokenCopy(
    module="rtl.trigger.credit_window",
    block="CreditWindow",
    fault="the oldest passes one complete dispatch index for two",
    right="m.d.sync += self.oldest.eq(self.oldest + 1)",
    wrong="m.d.sync += self.oldest.eq(self.oldest + 2)",
)
