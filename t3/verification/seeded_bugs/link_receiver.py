"""Receiver of a link endpoint that believes everything."""

from .bug import SeededBug

__all__ = ["LINK_RECEIVER"]

LINK_RECEIVER = SeededBug(
    module="rtl.link.receiver",
    block="LinkReceiver",
    fault="takes corrupt flits",
    right="intact.eq(self.i.valid & ~self.i.p.corrupt)",
    wrong="intact.eq(self.i.valid)",
)
