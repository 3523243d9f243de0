"""Queue of remote stores: packets of one context that leave over the link without the tracker."""

from rtl.channel.channel import STORES_IN_FLIGHT
from sysmodel.lib.compiled import inlined

from ..index import natural
from ..records import Record, record

__all__ = ["REMOTE_QUEUE", "back_of_remote", "has_remote_space", "push_remote", "step_remote"]

REMOTE_QUEUE = record("remote_stored remote_valid remote_head remote_put")
"""Number of records in the memory; flag and position of the prefetched record; flag of a push."""


@inlined
def back_of_remote(config: Record, queue: Record) -> int:
    """Return the position of the next record, or -1 if the memory is full."""
    rows = config.remote_depth - 1
    if queue.remote_stored == rows:
        return -1
    behind = queue.remote_head + queue.remote_valid + queue.remote_stored
    return natural(behind - rows - 1 if behind > rows else behind)


@inlined
def push_remote(queue: Record) -> None:
    """Push the record at the queue's back."""
    queue.remote_put = 1


@inlined
def has_remote_space(config: Record, queue: Record) -> bool:
    """Return whether the queue has space for all stores that the channel has taken."""
    return queue.remote_stored + queue.remote_valid <= config.remote_depth - STORES_IN_FLIGHT


@inlined
def step_remote(config: Record, queue: Record, popped: bool) -> bool:
    """Advance the queue by one cycle: a stored record is read ahead.

    Returns
    -------
    bool
        A register of the queue changes.
    """
    put = queue.remote_put
    if popped:
        last = config.remote_depth - 1
        queue.remote_head = 0 if queue.remote_head == last else queue.remote_head + 1
    reads = queue.remote_stored != 0 and (popped or not queue.remote_valid)
    queue.remote_valid = reads or (queue.remote_valid != 0 and not popped)
    queue.remote_stored += put - reads
    queue.remote_put = 0
    return put or reads or popped
