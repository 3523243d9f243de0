"""Notice buffer that reorders."""

from .copy import BrokenCopy

__all__ = ["NOTICE_BUFFER"]

NOTICE_BUFFER = BrokenCopy(
    module="rtl.channel.notice_buffer",
    block="NoticeBuffer",
    fault="a notice goes straight through while others are still in the memory",
    right="straight = waiting.empty & self.o.ready",
    wrong="straight = ~waiting.o.valid & self.o.ready",
)
