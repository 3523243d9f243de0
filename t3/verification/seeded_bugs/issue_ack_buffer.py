"""Issue acknowledgement buffer that reorders."""

from .bug import SeededBug

__all__ = ["ISSUE_ACK_BUFFER"]

ISSUE_ACK_BUFFER = SeededBug(
    module="rtl.channel.issue_ack_buffer",
    block="IssueAckBuffer",
    fault="an issue acknowledgement goes straight through while others are still in the memory",
    right="straight = waiting.empty & self.o.ready",
    wrong="straight = ~waiting.o.valid & self.o.ready",
)
