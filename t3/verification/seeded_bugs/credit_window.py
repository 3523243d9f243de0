"""Credit window that forgets to wait."""

from .bug import SeededBug

__all__ = ["CREDIT_WINDOW"]

CREDIT_WINDOW = SeededBug(
    module="rtl.trigger.credit_window",
    block="CreditWindow",
    fault="the oldest passes one complete dispatch index for two",
    right="m.d.sync += self.oldest.eq(self.oldest + 1)",
    wrong="m.d.sync += self.oldest.eq(self.oldest + 2)",
)
