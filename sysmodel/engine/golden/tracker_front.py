"""Tracker's front: each channel's candidate, and each bank's choice among the channels."""

from sysmodel.lib.compiled import inlined

from .queues import D, Q, back, front, has, mark, natural, pick, room
from .records import copy_record
from .rooms import ROOM, wake
from .tracker_bank import accept, has_room
from .watch import note_tracked

__all__ = ["step_front"]


@inlined
def _nominate(s, channel, levels, heads):
    """Move one of the channel's acknowledgements or end-of-tile markers into ``candidates``, if
    there is any, and room."""
    choice = pick(has(levels, Q.issue_acks), has(levels, Q.ends), channel.front_last)
    if choice < 0 or not room(levels, Q.candidates, D.candidates):
        return False
    candidate = channel.candidates[back(levels, heads, Q.candidates)]
    tile = candidate.tile
    if choice == 1:
        queue = Q.ends
        copy_record(tile, channel.ends[front(heads, Q.ends)])
        note_tracked(channel, natural(tile.owner), 1)
    else:
        queue = Q.issue_acks
        updates = channel.issue_acks[front(heads, Q.issue_acks)]
        note_tracked(channel, natural(updates.owner), updates.count)
        tile.end = 0
        tile.owner = updates.owner
        tile.dispatch_index = updates.dispatch_index
        tile.wavefront = updates.wavefront
        tile.atom = updates.atom
        tile.count = updates.count
        tile.tile_atoms = 0
        tile.outer_edge = 0
        tile.inner_edge = 0
    turn = s.turns[natural(tile.wavefront)]
    candidate.bank = (tile.dispatch_index ^ turn) & (s.config.banks - 1)
    channel.front_last = choice
    s.contexts[natural(tile.owner)].candidates += 1
    channel.popped += mark(queue)
    channel.pushed += mark(Q.candidates)
    return True


@inlined
def _choose(s, bank, number):
    """Move the candidate of channel `number` into the bank."""
    channel = s.channels[natural(number)]
    tile = channel.candidates[front(channel.heads, Q.candidates)].tile
    s.contexts[natural(tile.owner)].candidates -= 1
    accept(s, bank, tile)
    channel.popped += mark(Q.candidates)
    following = number + 1
    bank.pointer = following if following < s.config.channels else 0
    s.gpu.chose = 1


@inlined
def step_front(s):
    """Give each bank that has room the first candidate at or after its pointer."""
    channels = s.config.channels
    asked, awake = 0, s.gpu.chose != 0
    s.gpu.chose = 0
    for number in range(channels):
        channel = s.channels[natural(number)]
        levels, heads = channel.levels, channel.heads
        awake |= _nominate(s, channel, levels, heads)
        if not has(levels, Q.candidates):
            continue
        bank = s.banks[natural(channel.candidates[front(heads, Q.candidates)].bank)]
        if not has_room(bank):
            continue
        if channels == 1:
            _choose(s, bank, 0)
            continue
        distance = number - bank.pointer
        if distance < 0:
            distance += channels
        if bank.best == 0:
            asked += 1
        elif distance >= bank.best - 1:
            continue
        bank.best = distance + 1  # 0: nobody asks
        bank.best_channel = number
    index = 0
    while asked:
        bank = s.banks[natural(index)]
        if bank.best:
            bank.best = 0
            _choose(s, bank, bank.best_channel)
            asked -= 1
        index += 1
    if awake or s.gpu.chose:
        wake(s, ROOM.tracker_front)
