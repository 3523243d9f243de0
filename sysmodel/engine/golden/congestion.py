"""Whether the memory holds communication up, seen in one channel after the other."""

from sysmodel.engine.ports import CHANNEL_INPUTS, I
from sysmodel.lib.compiled import inlined

from .queues import Q, has, natural
from .rooms import UNIT

__all__ = ["follow_congestion", "packet_waits"]

_MORE, _LESS = 7, 1
_MOST, _CONGESTED = 511, 256


@inlined
def packet_waits(s, words):
    """Whether the link does not take what a channel offers."""
    for index in range(s.config.channels):
        number = natural(index)
        ready = words[natural(number * CHANNEL_INPUTS) + I.link_out_ready]
        if has(s.channels[number].levels, Q.link) and not ready:
            return True
    return False


@inlined
def _look(s, context, waits):
    """Whether the next channel's DRAM queue is full while the link has nothing of it to send, and
    nothing of another's ``waits``."""
    own = s.contexts[context].criticality
    channel = s.channels[natural(own.turn)]
    full = channel.occupancy >= s.config.arbiter.cuts[2]
    empty = not has(channel.levels, Q.link)
    own.seen = full and empty and not waits
    own.turn = own.turn + 1 if own.turn + 1 < s.config.channels else 0


@inlined
def _count(s, context):
    """What was seen, while communication is critical."""
    own = s.contexts[context].criticality
    if not own.active and not own.critical:
        own.congestion = 0
    elif own.critical:
        if own.seen:
            own.congestion = min(own.congestion + _MORE, _MOST)
        elif own.congestion:
            own.congestion -= _LESS
    own.congested = own.congestion >= _CONGESTED


@inlined
def follow_congestion(s, context, waits, tick):
    """One cycle, before what is told of the context changes and anything moves: a look at a tick,
    counted in the cycle after it. ``waits`` is :func:`packet_waits`."""
    own = s.contexts[context].criticality
    if own.looked:
        s.contexts[context].awake |= UNIT.criticality
        _count(s, context)
    own.looked = tick
    if tick:
        _look(s, context, waits)
