"""Sender of a link endpoint that floods the other side."""

from .copy import BrokenCopy

__all__ = ["LINK_SENDER"]

LINK_SENDER = BrokenCopy(
    module="rtl.link.sender",
    block="LinkSender",
    fault="sends more than it has credits for",
    right="& (upcoming != limit)",
    wrong="",
)
