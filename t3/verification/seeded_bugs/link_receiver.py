"""Receiver of a link endpoint that believes everything."""

from .copy import BrokenCopy

__all__ = ["LINK_RECEIVER"]

LINK_RECEIVER = BrokenCopy(
    module="rtl.link.receiver",
    block="LinkReceiver",
    fault="takes corrupt flits",
    right="intact.eq(self.i.valid & ~self.i.p.corrupt)",
    wrong="intact.eq(self.i.valid)",
)
