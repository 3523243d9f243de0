"""Queue of end-of-tile markers: turns of stores and of packets."""

from rtl.interface.encodings import PacketKind, Target
from sysmodel.lib.compiled import inlined

from ..index import pick
from ..records import Record
from .queues import D, Q, front, has, has_space

__all__ = ["END_TURN", "OF_PACKET", "OF_STORE", "pick_marker"]

END_TURN = "ends_last"
"""Field of the channel's record: source of the last marker."""
OF_STORE, OF_PACKET = 0, 1
"""Sources of markers."""

_TO_END_OF_TILE, _END = Target.END_OF_TILE.value, PacketKind.END.value


@inlined
def pick_marker(channel: Record, queued: int, heads: int) -> int:
    """Return the source whose marker the queue takes in this cycle, or -1."""
    if not has_space(queued, Q.ends, D.ends):
        return -1
    of_store = has(queued, Q.classified) and (
        channel.classified[front(heads, Q.classified)].target == _TO_END_OF_TILE
    )
    of_packet = has(queued, Q.inbound) and (
        channel.inbound[front(heads, Q.inbound)].packet.kind == _END
    )
    choice = pick(of_store, of_packet, channel.ends_last)
    if choice >= 0:
        channel.ends_last = choice
    return choice
