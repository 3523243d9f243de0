"""Link merge: merges the remote stores and the lanes' packets of all contexts into one queue, in
turn, with a copy for each peer that may get it.
"""

from rtl.interface.encodings import PacketKind
from rtl.link.layouts import FRAME_ATOMS
from rtl.link.turns import MOST_IN_TURN
from sysmodel.lib.compiled import inlined

from ..index import natural, pick
from ..payloads.packets import address_link_packet
from ..records import Record, record
from ..state import GoldenState
from .queues import D, Q, back, has_space, mark

__all__ = ["LINK_MERGE", "LINK_TURN", "drop_empty", "drop_packet", "merge_packets"]

LINK_MERGE = record("first_sender last_sender goes_on in_turn")
"""Context that sends first; context that sent last, its turn goes on, and packets of the turn
behind its first one.
"""
LINK_TURN = record("link_last served")
"""Last source of a context: 0 for remote stores, 1 for its lane; and the peers that have their copy
of the packet, while some have none yet.
"""

_UPDATE, _END = PacketKind.UPDATE.value, PacketKind.END.value
_LAST = FRAME_ATOMS - 1


@inlined
def _next_packet(turn: Record, lane: Record, remote: Record) -> int:
    """Return the source of a context's next packet: 0 for remote stores, 1 for the lane, or -1."""
    if turn.served:
        return turn.link_last
    return pick(remote.remote_valid != 0, lane.has_ahead != 0, turn.link_last)


@inlined
def _permitted(own: Record, peers: int, kind: int) -> int:
    """Return the peers of a mask that a context may send a packet of this kind."""
    permitted = 0
    index = 0
    while peers >> index:
        if peers >> index & 1:
            peer = own.peers[index]
            by_stores = peer.sends_stores if kind != _UPDATE else 0
            by_updates = peer.sends_updates if kind == _UPDATE or kind == _END else 0
            if peer.enable and by_stores | by_updates:
                permitted |= 1 << index
        index += 1
    return permitted


@inlined
def _peers(
    s: GoldenState, number: int, context: int, lane: Record, remote: Record, choice: int
) -> int:
    """Return the peers that may get the first packet of a context's source in channel `number`."""
    own = s.contexts[context]
    if choice == 0:
        packet = s.remote[natural(number), context, natural(remote.remote_head)]
        return _permitted(own, packet.peers, packet.kind)
    return _permitted(own, lane.ahead.peers, lane.ahead.kind)


@inlined
def _lowest(peers: int) -> int:
    """Return the lowest peer of a mask that is not 0."""
    peer = 0
    while not peers >> peer & 1:
        peer += 1
    return peer


@inlined
def _serve(turn: Record, choice: int, peers: int, peer: int) -> bool:
    """Record the copy for a peer; return whether it is the packet's last one."""
    turn.link_last = choice
    turn.served |= 1 << peer
    if peers & ~turn.served:
        return False
    turn.served = 0
    return True


@inlined
def _take_turn(merge: Record, context: int, following: int, goes_on: bool, atom: int) -> None:
    """Record a packet of a context's turn."""
    merge.in_turn = merge.in_turn + 1 if goes_on else 0
    if not goes_on:
        merge.first_sender = following
    merge.last_sender = context
    ends = merge.in_turn >= _LAST and atom & _LAST == _LAST
    merge.goes_on = 0 if ends or merge.in_turn == MOST_IN_TURN - 1 else 1


@inlined
def merge_packets(
    s: GoldenState, number: int, channel: Record, queued: int, heads: int, link_space: int
) -> tuple[int, int, bool, bool]:
    """Choose one packet for ``link``, and send a copy to the next of its peers.

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
    leaves : bool
        The copy is the packet's last one.
    """
    if not has_space(queued, Q.link, D.link):
        return 0, -1, False, False
    merge = channel.link_merge
    goes_on = merge.goes_on != 0
    context = natural(merge.last_sender if goes_on else merge.first_sender)
    for _ in range(s.config.contexts + goes_on):
        lane, remote = channel.lanes[context], channel.remote_queues[context]
        turn = channel.link_turns[context]
        following = context + 1 if context + 1 < s.config.contexts else 0
        choice = _next_packet(turn, lane, remote)
        own = s.contexts[context]
        if choice >= 0 and link_space >> context & 1 and not own.aborted:
            peers = _peers(s, number, context, lane, remote, choice)
            waiting = peers & ~turn.served
            if waiting:
                peer = _lowest(waiting)
                to, entry = channel.link[back(queued, heads, Q.link)], own.peers[peer]
                if choice == 0:
                    packet = s.remote[natural(number), context, natural(remote.remote_head)]
                    address_link_packet(s.config, to, packet, context, own.rank, entry)
                else:
                    address_link_packet(s.config, to, lane.ahead, context, own.rank, entry)
                _take_turn(merge, context, following, goes_on, to.packet.atom)
                return mark(Q.link), context, choice == 0, _serve(turn, choice, peers, peer)
        context = natural(merge.first_sender if goes_on else following)
        goes_on = False
    return 0, -1, False, False


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
        turn.served = 0
    return choice


@inlined
def drop_empty(
    s: GoldenState, number: int, context: int, turn: Record, lane: Record, remote: Record
) -> int:
    """Drop the next packet of a context if no peer is left that may get it; return the source as
    :func:`drop_packet` does.
    """
    choice = _next_packet(turn, lane, remote)
    if choice >= 0 and not _peers(s, number, context, lane, remote, choice) & ~turn.served:
        return drop_packet(turn, lane, remote)
    return -1
