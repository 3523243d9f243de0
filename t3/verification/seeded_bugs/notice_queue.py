"""Notice queue that counts into what has left."""

from .copy import BrokenCopy

__all__ = ["NOTICE_QUEUE"]

NOTICE_QUEUE = BrokenCopy(
    module="rtl.channel.notice_queue",
    block="NoticeQueue",
    fault="a notice joins the head, also while it is offered and when it leaves",
    right="for index in range(1, depth):",
    wrong="for index in range(depth):",
)
