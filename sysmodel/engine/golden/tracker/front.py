"""Tracker front: the candidate of each channel, and the choice of each bank among the channels."""

from typing import NamedTuple

from sysmodel.lib.compiled import inlined

from ..channel.outstanding import note_tracked
from ..channel.queues import D, Q, back, front, has, has_space, pop_at_front, push_at_front
from ..index import natural, pick
from ..payloads.tiles import make_candidate, make_tile
from ..records import Record, copy_record
from ..state import GoldenState
from .bank import accept, has_bank_space
from .choice import advance_choice, request_bank, take_choice
from .counts import note_candidate, take_candidate

__all__ = ["FRONT_WORDS", "FrontOutputs", "step_front", "take_event"]

FRONT_WORDS = "front_last"
"""Field of the channel's record: 0 if its last candidate was an acknowledgement, 1 if it was an
end-of-tile marker."""


class FrontOutputs(NamedTuple):
    """Result of the front's cycle.

    Attributes
    ----------
    nominates, chooses : bool
        A channel has a new candidate; a bank takes a candidate.
    """

    nominates: bool
    chooses: bool


@inlined
def take_event(channel: Record, queue: int, owner: int, count: int) -> None:
    """Take the oldest event of a channel's queue, which ends ``count`` requests of its owner."""
    note_tracked(channel, natural(owner), count)
    pop_at_front(channel, queue)


@inlined
def _nominate(s: GoldenState, channel: Record, queued: int, heads: int) -> bool:
    """Move one of the channel's acknowledgements or end-of-tile markers into ``candidates``, if
    there is one and there is space; return whether one moves.
    """
    choice = pick(has(queued, Q.issue_acks), has(queued, Q.ends), channel.front_last)
    if choice < 0 or not has_space(queued, Q.candidates, D.candidates):
        return False
    candidate = channel.candidates[back(queued, heads, Q.candidates)]
    tile = candidate.tile
    if choice == 1:
        copy_record(tile, channel.ends[front(heads, Q.ends)])
        take_event(channel, Q.ends, tile.owner, 1)
    else:
        updates = channel.issue_acks[front(heads, Q.issue_acks)]
        make_tile(tile, updates)
        take_event(channel, Q.issue_acks, updates.owner, updates.count)
    turn = s.turns[natural(tile.wavefront)]
    make_candidate(candidate, (tile.dispatch_index ^ turn) & (s.config.banks - 1))
    channel.front_last = choice
    note_candidate(s.contexts[natural(tile.owner)].tracker)
    push_at_front(channel, Q.candidates)
    return True


@inlined
def _choose(s: GoldenState, bank: Record, number: int) -> None:
    """Move the candidate of channel `number` into the bank."""
    channel = s.channels[natural(number)]
    tile = channel.candidates[front(channel.heads, Q.candidates)].tile
    take_candidate(s.contexts[natural(tile.owner)].tracker)
    accept(s, bank, tile)
    pop_at_front(channel, Q.candidates)
    advance_choice(bank, number, s.config.channels)


@inlined
def step_front(s: GoldenState) -> FrontOutputs:
    """Advance the front by one cycle: each bank that has space takes the first candidate at or
    after its pointer.
    """
    channels = s.config.channels
    asked, nominates, chooses = 0, False, False
    for number in range(channels):
        channel = s.channels[natural(number)]
        queued, heads = channel.queued, channel.heads
        nominates |= _nominate(s, channel, queued, heads)
        if not has(queued, Q.candidates):
            continue
        bank = s.banks[natural(channel.candidates[front(heads, Q.candidates)].bank)]
        if not has_bank_space(bank):
            continue
        if channels == 1:
            _choose(s, bank, 0)
            chooses = True
        else:
            asked += request_bank(bank, number, channels)
    chooses |= asked != 0
    index = 0
    while asked:
        bank = s.banks[natural(index)]
        number = take_choice(bank)
        if number >= 0:
            _choose(s, bank, number)
            asked -= 1
        index += 1
    return FrontOutputs(nominates, chooses)
