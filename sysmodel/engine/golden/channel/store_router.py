"""Store router: sends classified stores to the DRAM, to the link, or to the tracker."""

from rtl.interface.encodings import ErrorCode, Origin, Target
from sysmodel.lib.compiled import inlined

from ..index import natural
from ..payloads.accesses import make_update_request, make_write_request
from ..payloads.packets import make_packet
from ..payloads.tiles import make_marker
from ..records import Record
from ..registers.errors import error, place_of
from ..state import GoldenState
from .end_queue import OF_STORE
from .outstanding import note_ended
from .queues import D, Q, back, front, has, has_space, mark
from .remote_queue import back_of_remote, push_remote

__all__ = ["route_store"]

_COMPUTE = Origin.COMPUTE.value
_TO_UPDATE, _TO_REMOTE = Target.UPDATE.value, Target.REMOTE.value
_TO_END_OF_TILE = Target.END_OF_TILE.value
_STORE_AHEAD = ErrorCode.STORE_AHEAD.value


@inlined
def _send_remote(
    s: GoldenState, number: int, channel: Record, head: Record, owner: int, refuses: bool
) -> tuple[int, int, int]:
    """Move a store, or its tile's marker, into its context's queue of remote stores, or drop it if
    the context is aborted, if the command does not mark tiles, or if the queue is full and the
    router ``refuses``.

    Returns
    -------
    popped, failure, place : int
    """
    entry, queue = s.ranges[owner, head.range], channel.remote_queues[owner]
    command = s.commands[owner, entry.command]
    if s.contexts[owner].aborted or head.end and not command.marks:
        note_ended(channel, owner, True)
        return mark(Q.classified), 0, 0
    behind = back_of_remote(s.config, queue)
    if behind < 0:
        if not refuses:
            return 0, 0, 0
        note_ended(channel, owner, True)
        failure = error(_STORE_AHEAD, owner, head.dispatch_index, head.wavefront)
        return mark(Q.classified), failure, place_of(head.atom, 0, channel.number, False)
    push_remote(queue)
    note_ended(channel, owner, True)
    make_packet(
        s.config,
        s.remote[natural(number), owner, natural(behind)],
        head,
        command,
        (head.atom + command.atom_offset) & s.config.atom_mask,
        entry.peers,
        (head.dispatch_index + entry.slot_offset) & s.config.dispatch_index_mask,
    )
    return mark(Q.classified), 0, 0


@inlined
def route_store(
    s: GoldenState,
    number: int,
    channel: Record,
    queued: int,
    heads: int,
    link_space: int,
    marker: int,
) -> tuple[int, int, int, int]:
    """Move the head of ``classified`` to ``writes``, to its context's queue of remote stores, or to
    ``ends``, whose next ``marker`` is that of a store or of a packet.

    Returns
    -------
    popped, pushed : int
    failure, place : int
        Error of a refused store, and its place; 0 without an error.
    """
    head = channel.classified[front(heads, Q.classified)]
    target, owner = head.target, natural(head.owner)
    if target == _TO_REMOTE:
        # The check of the next store uses the same register of errors, and goes first.
        checks = has(queued, Q.stores) and has_space(queued, Q.classified, D.classified)
        refuses = not checks and link_space >> owner & 1 == 0
        popped, failure, place = _send_remote(s, number, channel, head, owner, refuses)
        return popped, 0, failure, place
    if target == _TO_END_OF_TILE:
        if marker != OF_STORE:
            return 0, 0, 0, 0
        make_marker(channel.ends[back(queued, heads, Q.ends)], owner, head)
        return mark(Q.classified), mark(Q.ends), 0, 0
    if not has_space(queued, Q.writes, D.writes):
        return 0, 0, 0, 0
    to = channel.writes[back(queued, heads, Q.writes)]
    if target == _TO_UPDATE:
        make_update_request(s.config, to, _COMPUTE, owner, head.dispatch_index, head)
    else:
        make_write_request(s.config, to, _COMPUTE, 0, head)
    return mark(Q.classified), mark(Q.writes), 0, 0
