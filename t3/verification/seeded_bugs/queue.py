"""Queue that loses."""

from .bug import SeededBug

__all__ = ["QUEUE"]

QUEUE = SeededBug(
    module="rtl.lib.queue",
    block="Queue",
    fault="takes what is offered also when it is full, over its oldest entry",
    right="self.i.ready.eq(self.level != depth)",
    wrong="self.i.ready.eq(1)",
)
