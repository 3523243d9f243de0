"""Tracker's front: each channel's candidate, and each bank's choice among the channels."""

from sysmodel.lib.compiled import compiled, inlined

from .queues import D, Q, back, copy_words, front, has, mark, natural, pick, room
from .state import BANK_WORDS, CANDIDATE, CHANNEL_WORDS, TILE, UPDATES, B, C, K
from .tracker_bank import accept, has_room

__all__ = ["step_front"]


@inlined
def _nominate(s, k, levels, heads):
    """Move an acknowledgement or an end-of-tile marker of the channel at word `k` into
    ``candidates``."""
    config, channel = s.config, s.channels
    choice = pick(has(levels, Q.issue_acks), has(levels, Q.ends), channel[k + K.front_last])
    if choice < 0 or not room(levels, Q.candidates, D.candidates):
        return
    body = k + K.body
    to = natural(back(body, levels, heads, Q.candidates))
    if choice == 1:
        queue = Q.ends
        copy_words(channel, to, channel, front(body, heads, queue), len(TILE))
    else:
        queue = Q.issue_acks
        issue_ack = front(body, heads, queue)
        channel[to + TILE.end] = 0
        channel[to + TILE.dispatch_index] = channel[issue_ack + UPDATES.dispatch_index]
        channel[to + TILE.wavefront] = channel[issue_ack + UPDATES.wavefront]
        channel[to + TILE.atom] = channel[issue_ack + UPDATES.atom]
        channel[to + TILE.count] = channel[issue_ack + UPDATES.count]
        channel[to + TILE.tile_atoms] = 0
        channel[to + TILE.outer_edge] = 0
        channel[to + TILE.inner_edge] = 0
    turn = config[natural(config[C.at_turns] + channel[to + TILE.wavefront])]
    index = (channel[to + TILE.dispatch_index] ^ turn) & (config[C.banks] - 1)
    channel[to + CANDIDATE.bank] = config[C.at_banks] + index * BANK_WORDS
    channel[k + K.front_last] = choice
    channel[k + K.popped] += mark(queue)
    channel[k + K.pushed] += mark(Q.candidates)


@inlined
def _choose(s, bank, number):
    """Move the candidate of channel `number` into the bank."""
    channel = s.channels
    k = natural(number * CHANNEL_WORDS)
    accept(s, bank, channel, front(k + K.body, channel[k + K.heads], Q.candidates))
    channel[k + K.popped] += mark(Q.candidates)
    following = number + 1
    s.memory[bank + B.pointer] = following if following < s.config[C.channels] else 0


@compiled
def step_front(s):
    """Give each bank that has room the first candidate at or after its pointer."""
    config, channel, memory = s.config, s.channels, s.memory
    channels = config[C.channels]
    asked = 0
    for number in range(channels):
        k = natural(number * CHANNEL_WORDS)
        levels, heads = channel[k + K.levels], channel[k + K.heads]
        _nominate(s, k, levels, heads)
        if not has(levels, Q.candidates):
            continue
        bank = natural(channel[front(k + K.body, heads, Q.candidates) + CANDIDATE.bank])
        if not has_room(memory, bank):
            continue
        if channels == 1:
            _choose(s, bank, 0)
            return
        distance = number - memory[bank + B.pointer]
        if distance < 0:
            distance += channels
        if memory[bank + B.best] == 0:
            asked += 1
        elif distance >= memory[bank + B.best] - 1:
            continue
        memory[bank + B.best] = distance + 1  # 0: nobody asks
        memory[bank + B.best_channel] = number
    bank = natural(config[C.at_banks])
    while asked:
        if memory[bank + B.best]:
            memory[bank + B.best] = 0
            _choose(s, bank, memory[bank + B.best_channel])
            asked -= 1
        bank = natural(bank + BANK_WORDS)
