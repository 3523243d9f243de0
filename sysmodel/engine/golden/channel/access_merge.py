"""Access merge: round robins of both streams, and the arbiter in front of the DRAM queue."""

from rtl.interface.encodings import Origin
from sysmodel.lib.compiled import inlined

from ..index import natural, pick
from ..payloads.accesses import make_read_request
from ..records import Record, copy_record, record
from .arbitration import arbitrate
from .queues import D, Q, back, front, has, has_space, mark

__all__ = ["ACCESS_MERGE", "merge_accesses", "reading_lane"]

ACCESS_MERGE = record("compute_last communication_last first_reader")
"""Last source of each stream, and the context whose lane reads first."""

_COMPUTE, _COMMUNICATION = Origin.COMPUTE.value, Origin.COMMUNICATION.value


@inlined
def reading_lane(contexts: int, channel: Record) -> int:
    """Return the context whose lane reads next, or -1."""
    context = natural(channel.merge.first_reader)
    for _ in range(contexts):
        if channel.lanes[context].reads_level:
            return context
        context = context + 1 if context + 1 < contexts else 0
    return -1


@inlined
def merge_accesses(
    config: Record, inputs: Record, channel: Record, queued: int, heads: int, reader: int
) -> tuple[int, int, int]:
    """Choose one request of ``reads``, ``writes``, ``updates`` and the lanes for ``issue``.

    Parameters
    ----------
    inputs : record
        Record :data:`~.arbitration.ARBITER_INPUTS`.
    reader : int
        Context whose lane reads next, or -1.

    Returns
    -------
    popped, pushed : int
    reader : int
        Context whose lane reads, or -1.
    """
    merge = channel.merge
    compute = pick(has(queued, Q.reads), has(queued, Q.writes), merge.compute_last)
    communication = pick(has(queued, Q.updates), reader >= 0, merge.communication_last)
    choice = arbitrate(
        config.arbiter,
        inputs,
        channel.arbiter,
        channel.measurement.measured,
        channel.occupancy,
        compute >= 0,
        communication >= 0,
        has_space(queued, Q.issue, D.issue),
    )
    if choice < 0:
        return 0, 0, -1
    to = channel.issue[back(queued, heads, Q.issue)]
    if choice == 0:
        merge.compute_last = compute
        if compute == 0:
            read = channel.reads[front(heads, Q.reads)]
            make_read_request(to, _COMPUTE, read.atom, read.tag, 0)
            return mark(Q.reads), mark(Q.issue), -1
        copy_record(to, channel.writes[front(heads, Q.writes)])
        return mark(Q.writes), mark(Q.issue), -1
    merge.communication_last = communication
    if communication == 0:
        copy_record(to, channel.updates[front(heads, Q.updates)])
        return mark(Q.updates), mark(Q.issue), -1
    lane = channel.lanes[natural(reader)]
    read = lane.reads[natural(lane.reads_head)]
    tag = read.tag | reader << config.slot_bits
    make_read_request(to, _COMMUNICATION, read.atom, tag, reader)
    merge.first_reader = reader + 1 if reader + 1 < config.contexts else 0
    return 0, mark(Q.issue), reader
