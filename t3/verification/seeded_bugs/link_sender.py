"""Sender of a link endpoint that floods the other side."""

from .bug import SeededBug

__all__ = ["LINK_SENDER"]

LINK_SENDER = SeededBug(
    module="rtl.link.sender",
    block="LinkSender",
    fault="sends more than it has credits for",
    right="& (upcoming != limit)",
    wrong="",
)
