"""Queue of copies: holds plain copies that software started, in front of the DMA engine."""

from sysmodel.lib.compiled import inlined

from ..index import natural
from ..payloads.commands import make_copy
from ..payloads.layouts import COPY
from ..records import Record, record

__all__ = ["COPY_QUEUE", "MOST_COPIES", "copy_valid", "first_copy", "pop_copy", "push_copy"]

MOST_COPIES = 2
COPY_QUEUE = record("copies_head copies_level", [("copies", COPY, (MOST_COPIES,))])
"""Position of the oldest copy, the number of copies, and their circular buffer."""


@inlined
def copy_valid(queue: Record) -> bool:
    """Return whether the queue offers a copy."""
    return queue.copies_level != 0


@inlined
def first_copy(queue: Record) -> Record:
    """Return the oldest copy."""
    return queue.copies[natural(queue.copies_head)]


@inlined
def push_copy(queue: Record, command: Record, region: Record, start: int, peers: int) -> None:
    """Push a copy to these peers, with its command and the command's region, as they are programmed
    now.
    """
    to = queue.copies[(queue.copies_head + queue.copies_level) & (MOST_COPIES - 1)]
    make_copy(to, command, region, start, peers)
    queue.copies_level += 1


@inlined
def pop_copy(queue: Record) -> None:
    """Pop the oldest copy."""
    queue.copies_head ^= 1
    queue.copies_level -= 1
