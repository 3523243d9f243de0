"""Window that forgets to wait."""

from .copy import BrokenCopy

__all__ = ["WINDOW"]

WINDOW = BrokenCopy(
    module="rtl.trigger.window",
    block="Window",
    fault="the base passes one complete place for two",
    right="m.d.sync += self.base.eq(self.base + 1)",
    wrong="m.d.sync += self.base.eq(self.base + 2)",
)
