"""Queue that loses."""

from .copy import BrokenCopy

__all__ = ["QUEUE"]

QUEUE = BrokenCopy(
    module="rtl.lib.queue",
    block="Queue",
    fault="takes what is offered also when it is full, over its oldest entry",
    right="self.i.ready.eq(self.level != depth)",
    wrong="self.i.ready.eq(1)",
)
