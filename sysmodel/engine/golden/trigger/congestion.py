"""Congestion: detects whether the memory delays communication, by sampling one channel after
another.
"""

from sysmodel.engine.ports import CHANNEL_INPUTS, I
from sysmodel.lib.compiled import inlined

from ..channel.queues import Q, has
from ..index import natural
from ..records import Record, Records, Words

__all__ = ["CONGESTION_WORDS", "fade", "is_held_up", "packet_waits", "step_congestion"]

CONGESTION_WORDS = "looked turn full_seen congestion congested"
"""Fields of the criticality unit's record: the last cycle sampled a channel; the next channel; the
DRAM queue was full; the count; and its comparison.
"""

_MORE, _LESS = 7, 1
_MOST, _CONGESTED = 511, 256
_FADE = 64


@inlined
def packet_waits(config: Record, channels: Records, inputs: Words) -> bool:
    """Return whether a channel offers a packet that the link does not accept."""
    for index in range(config.channels):
        number = natural(index)
        ready = inputs[natural(number * CHANNEL_INPUTS) + I.link_out_ready]
        if has(channels[number].queued, Q.link) and not ready:
            return True
    return False


@inlined
def is_held_up(config: Record, channel: Record) -> bool:
    """Return whether a channel's DRAM queue is full while the channel has no packet for the
    link."""
    return channel.occupancy >= config.arbiter.cuts[2] and not has(channel.queued, Q.link)


@inlined
def _look(config: Record, own: Record, channels: Records, waits: bool) -> None:
    """Note whether the next channel's DRAM queue is full while the channel has no packet for the
    link, and no other channel's packet ``waits``."""
    own.full_seen = is_held_up(config, channels[natural(own.turn)]) and not waits
    own.turn = own.turn + 1 if own.turn + 1 < config.channels else 0


@inlined
def _count(own: Record) -> None:
    """Count the samples with a full queue, while communication is critical."""
    if not own.active and not own.critical:
        own.congestion = 0
    elif own.critical:
        if own.full_seen:
            own.congestion = min(own.congestion + _MORE, _MOST)
        elif own.congestion:
            own.congestion -= _LESS
    own.congested = own.congestion >= _CONGESTED


@inlined
def fade(own: Record) -> None:
    """Forget a part of the count, after a group of workgroups was sent while communication was not
    critical."""
    own.congestion = max(own.congestion - _FADE, 0)
    own.congested = own.congestion >= _CONGESTED


@inlined
def step_congestion(
    config: Record, own: Record, channels: Records, waits: bool, tick: bool
) -> bool:
    """Advance by one cycle, before the criticality unit and the channels: sample a channel at a
    tick, and count the sample in the next cycle.

    Parameters
    ----------
    own : record
        State of the criticality unit.
    waits : bool
        Result of :func:`packet_waits`.
    tick : bool
        Pulse of the GPU's timebase.

    Returns
    -------
    bool
        The count may change.
    """
    counts = own.looked != 0
    if counts:
        _count(own)
    own.looked = tick
    if tick:
        _look(config, own, channels, waits)
    return counts
