"""Link merge: merges the remote stores and the lanes' packets of all contexts into one queue, in
turn.
"""

from sysmodel.lib.compiled import inlined

from ..index import natural, pick
from ..payloads import address_link_packet
from ..records import Record, record
from ..state import GoldenState
from .queues import D, Q, back, has_space, mark

__all__ = ["LINK_MERGE", "LINK_TURN", "drop_packet", "merge_packets"]

LINK_MERGE = record("first_sender")
"""Context that sends first."""
LINK_TURN = record("link_last")
"""Last source of a context: 0 for remote stores, 1 for its lane."""


@inlined
def _next_packet(turn: Record, lane: Record, remote: Record) -> int:
    """Return the source of a context's next packet: 0 for remote stores, 1 for the lane, or -1."""
    return pick(remote.remote_valid != 0, lane.has_ahead != 0, turn.link_last)


@inlined
def merge_packets(
    s: GoldenState, number: int, channel: Record, queued: int, heads: int, link_space: int
) -> tuple[int, int, bool]:
    """Choose one packet for ``link``.

    Parameters
    ----------
    link_space : int
        Contexts for whose packets the link has space, one bit each.

    Returns
    -------
    pushed : int
    context : int
        Context that sends the packet, or -1.
    remote : bool
        The packet is a remote store, not the lane's.
    """
    if not has_space(queued, Q.link, D.link):
        return 0, -1, False
    merge = channel.link_merge
    context = natural(merge.first_sender)
    for _ in range(s.config.contexts):
        lane, remote = channel.lanes[context], channel.remote_queues[context]
        turn = channel.link_turns[context]
        following = context + 1 if context + 1 < s.config.contexts else 0
        choice = _next_packet(turn, lane, remote)
        if choice >= 0 and link_space >> context & 1 and not s.contexts[context].aborted:
            turn.link_last = choice
            merge.first_sender = following
            to = channel.link[back(queued, heads, Q.link)]
            if choice == 0:
                packet = s.remote[natural(number), context, natural(remote.remote_head)]
                address_link_packet(to, packet, context, s.gpu.number)
            else:
                address_link_packet(to, lane.ahead, context, s.gpu.number)
            return mark(Q.link), context, choice == 0
        context = natural(following)
    return 0, -1, False


@inlined
def drop_packet(turn: Record, lane: Record, remote: Record) -> int:
    """Drop the next packet of an aborted context, in the order in which packets would be sent.

    Returns
    -------
    int
        0 for a remote store, 1 for the lane's packet, -1 for none.
    """
    choice = _next_packet(turn, lane, remote)
    if choice >= 0:
        turn.link_last = choice
    return choice
