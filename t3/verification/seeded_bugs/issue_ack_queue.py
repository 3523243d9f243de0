"""Issue acknowledgement queue that counts into what has left."""

from .bug import SeededBug

__all__ = ["ISSUE_ACK_QUEUE"]

ISSUE_ACK_QUEUE = SeededBug(
    module="rtl.channel.issue_ack_queue",
    block="IssueAckQueue",
    fault="an issue acknowledgement joins the head, also while it is offered and when it leaves",
    right="for index in range(1, self._depth):",
    wrong="for index in range(self._depth):",
)
