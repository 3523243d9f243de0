"""Limits of the ranges: walks over the ranges of a launch, and finds what their peers admit and
what may be dispatched.
"""

from rtl.interface.encodings import Action
from sysmodel.lib.compiled import compiled, inlined

from ..index import natural
from ..records import Record, Records, Words, record

__all__ = ["RANGE_LIMITS", "continue_walk", "step_range_limits"]

RANGE_LIMITS = record("limits_open fresh visited chosen merged least term lowest dispatch_limit")
"""Unit: the flag that a launch is open; an input has changed since the last walk began; the number
of the range in each of the three steps, plus 1, or 0; the lowest bound of the peers of ``chosen``;
the dispatch limit by ``merged`` alone, and the lowest one of the walk; and the dispatch limit.
"""

_NONE, _REMOTE, _DMA = Action.NONE.value, Action.REMOTE.value, Action.DMA.value


@inlined
def _limit_of(least: int, offset: int, mask: int) -> int:
    """Return the dispatch indices whose slots are below the lowest bound.

    Parameters
    ----------
    offset : int
        Slot offset as the register holds it, a two's complement.
    """
    if least == 0 or least == mask:
        return least
    signed = offset - (mask + 1) if offset > mask >> 1 else offset
    return min(max(least - signed, 0), mask)


@compiled
def _merge(config: Record, own: Record, gate: int) -> None:
    """Third step: take the minimum of the ranges' dispatch limits, and of those by their gates."""
    term = min(own.term, gate) if config.contexts > 1 else own.term
    own.lowest = term if own.merged == 1 else min(own.lowest, term)
    if own.merged == config.ranges:
        own.dispatch_limit = own.lowest


@compiled
def _limit(config: Record, own: Record, limits: Words, ranges: Records, credit_limit: int) -> None:
    """Second step: compute the limit of a range, and the dispatch limit by the range alone."""
    mask, number = config.credit_limit_mask, natural(own.chosen - 1)
    entry = ranges[number]
    limit = _limit_of(own.least, entry.slot_offset, mask)
    sends = entry.action == _REMOTE or entry.action == _DMA
    limits[number] = limit if sends else mask
    bound = limit if entry.action == _REMOTE else credit_limit
    waits = entry.enable != 0 and entry.action != _NONE and bound <= entry.last
    own.term = max(entry.first, bound) if waits else mask


@compiled
def _find_least(config: Record, own: Record, ranges: Records, peer_status: Records) -> None:
    """First step: find the lowest bound of a range's peers."""
    own.least = config.credit_limit_mask
    peers = ranges[natural(own.visited - 1)].peers
    for index in range(config.peers):
        if peers >> index & 1:
            own.least = min(own.least, peer_status[natural(index)].admitted)


@inlined
def step_range_limits(
    config: Record,
    own: Record,
    limits: Words,
    ranges: Records,
    peer_status: Records,
    credit_limit: int,
    gate: int,
    stops: bool,
) -> None:
    """Advance the steps of the ranges by one cycle, before the peers' status and the credit window.

    Parameters
    ----------
    limits : array of int64
        Limit of each range.
    peer_status : array of records
        Record :data:`~..context.peer_status.PEER_STATUS` of each peer.
    credit_limit : int
        Credit limit of the context.
    gate : int
        Dispatch limit by the gate of the range in the third step.
    stops : bool
        A launch begins, or the context is aborted.
    """
    if stops:
        own.dispatch_limit = 0
        for number in range(config.ranges):
            limits[natural(number)] = 0
        return
    if own.merged:
        _merge(config, own, gate)
    if own.chosen:
        _limit(config, own, limits, ranges, credit_limit)
    if own.visited:
        _find_least(config, own, ranges, peer_status)


@inlined
def continue_walk(config: Record, own: Record, changes: bool, launch: bool, aborted: bool) -> bool:
    """Advance to the next range; return whether a register of the unit may change.

    Parameters
    ----------
    changes : bool
        What a peer admits, or the context's credit limit, has another value in the next cycle; or
        a gate needs another walk.
    launch, aborted : bool
        A launch begins; the context is aborted.
    """
    is_open = own.limits_open != 0
    if launch or aborted:
        own.limits_open = own.visited = launch
        own.fresh = own.chosen = own.merged = 0
        return launch or is_open
    if not is_open:
        return False
    works = own.visited | own.chosen | own.merged != 0
    own.fresh = changes or (own.fresh != 0 and own.visited != 1)
    own.merged, own.chosen = own.chosen, own.visited
    if 0 < own.visited < config.ranges:
        own.visited += 1
    else:
        own.visited = own.fresh
    return works or changes
