"""The golden tracker's banks and front against the rules of the page."""

import numpy as np
import pytest

from rtl.interface.encodings import ErrorCode
from sysmodel.engine.golden.channel.queues import (
    Q,
    back,
    begin_queues,
    end_queues,
    push_at_front,
    waiting,
)
from sysmodel.engine.golden.payloads.layouts import TILE
from sysmodel.engine.golden.tracker.bank import accept, has_bank_space, step_bank
from sysmodel.engine.golden.tracker.clearing import step_clearing
from sysmodel.engine.golden.tracker.completions import (
    offer_completion,
    offered_completion,
    offers_to,
    take_completion,
)
from sysmodel.engine.golden.tracker.front import step_front
from tests.support.golden_state import fresh_state


@pytest.fixture
def bank():
    state = fresh_state(tile_atom_bits=4, share_bits=2)
    for _ in range(state.config["rows"]):
        step_clearing(state, 0, 0, False)
    assert not state.banks[0]["clearing"]
    return state


def event(
    *,
    end=0,
    dispatch_index=3,
    wavefront=1,
    atom=100,
    count=1,
    tile_atoms=0,
    edges=(0, 0),
    shares=1,
    total=1,
):
    marker = tile_atoms, *edges, shares, total
    return np.array((end, 0, dispatch_index, wavefront, atom, count, *marker), TILE)[()]


def step(bank, chosen=None, clear=False):
    """Run one cycle in which the front chooses an event or none; return the error code."""
    if chosen is not None:
        accept(bank, bank.banks[0], chosen)
    code = step_bank(bank, 0, int(clear)).failure & 255
    if clear:
        bank.contexts[0]["aborted"] = 1
    bank.gpu["cycle"] += 1
    return code


def take(state):
    """Take the first context's completion, if one is offered in this cycle."""
    offer_completion(state)
    if not offers_to(state, 0):
        return None
    completion = offered_completion(state).tolist()
    take_completion(state)
    return completion


def completion(bank):
    """Pop the completion that is offered in this cycle; return its fields, or None."""
    found = take(bank)
    return None if found is None else found[1:]


def track(bank, **fields):
    """Run one event through the bank; return the error code, and the completion or None."""
    codes = [step(bank, event(**fields)), *(step(bank) for _ in range(4))]
    assert not any(codes[:4])
    return codes[4], completion(bank)


@pytest.mark.parametrize("end_at", range(7))
def test_tracker_completes_at_the_last_event_once(bank, end_at):
    atoms = [90, 70, 80, 75, 60, 99]
    found = []
    for index in range(7):
        if index == end_at:
            found.append(track(bank, end=1, tile_atoms=6, edges=(1, 0)))
        else:
            found.append(track(bank, atom=atoms.pop()))
    assert [code for code, _ in found] == [0] * 7
    assert [completion for _, completion in found[:-1]] == [None] * 6
    assert found[-1][1] == (3, 1, 60, 1, 0)


def test_tracker_frees_the_entry(bank):
    for _ in range(2):
        track(bank, end=1, tile_atoms=2)
        assert track(bank, atom=5) == (0, None)
        assert track(bank, atom=7) == (0, (3, 1, 5, 0, 0))


def test_tracker_errors(bank):
    code = ErrorCode
    assert track(bank, end=1, tile_atoms=2, shares=0) == (code.NO_SHARE.value, None)
    assert track(bank, end=1, tile_atoms=2) == (0, None)
    assert track(bank, end=1, tile_atoms=2, shares=0) == (code.NO_SHARE.value, None)
    for dispatch_index in (3 + 8, 3 + 16):
        track(bank, dispatch_index=dispatch_index)
    assert track(bank, dispatch_index=3 + 24) == (code.SET_FULL.value, None)
    assert track(bank, dispatch_index=3 + 24, end=1, shares=0) == (code.SET_FULL.value, None)


def test_tracker_overrun(bank):
    for _ in range(3):
        assert track(bank)[0] == 0
    assert track(bank, end=1, tile_atoms=1) == (ErrorCode.OVERRUN.value, None)
    assert track(bank, end=1, tile_atoms=1) == (0, None)  # the entry was freed
    assert track(bank, end=1, tile_atoms=1) == (ErrorCode.OVERRUN.value, None)
    assert track(bank, end=1, shares=2) == (ErrorCode.OVERRUN.value, None)


def test_tracker_adds_shares(bank):
    marker = {"end": 1, "total": 3}
    assert track(bank, **marker, tile_atoms=2) == (0, None)
    assert track(bank, count=3, atom=8) == (0, None)  # more than announced so far
    assert track(bank, **marker, tile_atoms=1, shares=2, edges=(0, 1)) == (0, (3, 1, 8, 0, 1))
    assert track(bank, **marker, shares=2) == (0, None)
    top = int(bank.config["atom_mask"])
    assert track(bank, **marker) == (0, (3, 1, top, 0, 0))  # a tile without atoms


def test_tracker_count_overflow(bank):
    for _ in range(63):
        assert track(bank)[0] == 0
    assert track(bank) == (ErrorCode.COUNT_OVERFLOW.value, None)
    assert track(bank)[0] == 0


def test_tracker_counts_updates_together(bank):
    assert track(bank, end=1, tile_atoms=15, total=2, count=5) == (0, None)
    assert track(bank, atom=40, count=15) == (0, None)
    assert track(bank, end=1, tile_atoms=3, total=2) == (0, None)
    assert track(bank, atom=30, count=3) == (0, (3, 1, 30, 0, 0))
    assert track(bank, end=1, tile_atoms=1) == (0, None)
    assert track(bank, count=3) == (ErrorCode.OVERRUN.value, None)


def test_tracker_count_overflow_by_more_than_one(bank):
    for _ in range(4):
        assert track(bank, count=15)[0] == 0
    assert track(bank, count=4) == (ErrorCode.COUNT_OVERFLOW.value, None)


def test_back_to_back(bank):
    """An entry is made, completed, and made anew by events in successive cycles."""
    events = [event(end=1, tile_atoms=2), event(atom=9), event(atom=4), event(atom=50)]
    events += [
        event(end=1, tile_atoms=2),
        event(atom=60),
        event(count=2),
        event(end=1, tile_atoms=2),
    ]
    seen = []
    for chosen in [*events, *[None] * 5]:
        found = completion(bank)  # the completion that the trigger unit sees in this cycle
        seen.append((found[2] if found else None, step(bank, chosen)))
    # Events 2, 5 and 7 complete their tile; they show five cycles after their choice.
    expected = [(None, 0)] * 13
    for index, start in ((2, 4), (5, 50), (7, 100)):
        expected[index + 5] = (start, 0)
    assert seen == expected


def test_clear_loses_the_events_on_their_way(bank):
    codes = [step(bank, event(end=1, dispatch_index=tile, shares=0)) for tile in range(4)]
    # The event of dispatch index 0 is in the update stage now, and its error is still reported.
    codes.append(step(bank, event(end=1, dispatch_index=4, shares=0), clear=True))
    assert codes == [0, 0, 0, 0, ErrorCode.NO_SHARE.value]
    # Until the stages are empty, the walk, and the cycles from a row's reading to its writing.
    cycles = 0
    while not has_bank_space(bank.banks[0]):
        assert step(bank) == 0
        cycles += 1
    assert bank.config["rows"] < cycles <= bank.config["rows"] + 8


def test_clear_keeps_completions_and_empties_the_table(bank):
    step(bank, event(end=1, tile_atoms=2, dispatch_index=3))
    step(bank, event(dispatch_index=3, atom=77, count=2))
    step(bank, event(dispatch_index=4))
    step(bank)
    step(bank)
    step(bank, clear=True)
    for _ in range(8):
        step(bank)
    assert completion(bank) == (3, 1, 77, 0, 0)
    assert not bank.entries["valid_entry"].any()


class Front:
    """Channels full of acknowledgements and ends of many tiles, and a trigger unit that stalls."""

    def __init__(self, seed, channels, banks):
        print(f"seed {seed}")
        self.rng = np.random.default_rng(seed)
        self.state = fresh_state(channels=channels, banks=banks, sets=16, ways=16)
        self.channels, self.banks = channels, banks
        for bank in range(banks):
            while self.state.banks[bank]["clearing"]:
                step_clearing(self.state, bank, 0, False)

    def push(self, channel, queue, **fields):
        """Put a record with these fields, the others 0, behind the queue's last."""
        words, number = self.state.channels[channel], getattr(Q, queue)
        to = words[queue][back(words["queued"], words["heads"], number)]
        for name in to.dtype.names:
            to[name] = fields.get(name, 0)
        push_at_front(words, number)

    def level(self, channel, queue):
        return waiting(self.state.channels[channel]["queued"], queue)

    def heads(self, queue):
        return [waiting(word, queue) for word in self.state.channels["heads"]]

    def step(self):
        """Run one cycle of the front and the banks; return the errors."""
        state = self.state
        step_front(state)
        errors = [step_bank(state, bank, 0).failure for bank in range(self.banks)]
        for channel in state.channels:
            end_queues(channel, *begin_queues(channel))
        state.gpu["cycle"] += 1
        return [error & 255 for error in errors if error]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.verify) for seed in range(1, 4))]
)
@pytest.mark.parametrize(("channels", "banks"), [(1, 1), (1, 4), (4, 1), (4, 4)])
def test_back_pressure_loses_nothing(seed, channels, banks):
    front = Front(seed, channels, banks)
    rng = front.rng
    tiles = [(dispatch_index, wavefront) for dispatch_index in range(16) for wavefront in range(8)]
    todo = [[] for _ in range(channels)]
    for tile in tiles:
        todo[rng.integers(0, channels)].append((*tile, True))
        todo[rng.integers(0, channels)].append((*tile, False))
    for events in todo:
        rng.shuffle(events)
        # First (from the back) the updates, so that later every event completes a tile.
        events.sort(key=lambda event: event[2], reverse=True)
    found, most = [], 0
    for cycle in range(3000):
        # Long stalls fill the queues of completions.
        if cycle % 200 > 120 and rng.random() < 0.7:
            done = take(front.state)
            if done:
                found.append(done[1:3])
        for channel, events in enumerate(todo):
            queue = Q.ends if events and events[-1][2] else Q.issue_acks
            if events and front.level(channel, queue) < 2:
                dispatch_index, wavefront, end = events.pop()
                tile = {"dispatch_index": dispatch_index, "wavefront": wavefront}
                if end:
                    marker = {"end": 1, "tile_atoms": 1, "shares": 1, "total": 1}
                    front.push(channel, "ends", **tile, **marker)
                else:
                    front.push(channel, "issue_acks", **tile, count=1)
        assert front.step() == []
        most = max(most, *front.state.banks["completions_level"])
    assert sorted(found) == tiles
    assert (7 if banks == 1 else 4) <= most <= 8


def test_the_bank_of_a_candidate_follows_from_dispatch_index_and_wavefront():
    """With four banks bit 0 of the wavefront inverts bit 1 of the dispatch index, and bit 1 bit
    0."""
    front = Front(0, 1, 4)
    for dispatch_index in range(4):
        for wavefront in range(8):
            front.push(0, "issue_acks", dispatch_index=dispatch_index, wavefront=wavefront)
            seen = []
            for _ in range(4):
                front.step()
                seen.append(np.flatnonzero(front.state.banks["in_pipeline"]).tolist())
            swapped = (wavefront & 1) << 1 | wavefront >> 1 & 1
            # Into the queue, into `candidates`, and chosen.
            assert seen == [[], [], [dispatch_index ^ swapped], [dispatch_index ^ swapped]]
            for _ in range(4):
                front.step()


def test_banks_take_turns_among_the_channels():
    front = Front(0, 4, 1)
    order = []
    for _ in range(40):
        for channel in range(4):
            if front.level(channel, Q.issue_acks) < 2:
                front.push(channel, "issue_acks", dispatch_index=channel, count=1)
        before = front.heads(Q.candidates)
        front.step()
        moved = np.array(front.heads(Q.candidates)) != before
        order += np.nonzero(moved)[0].tolist()
    assert order == [cycle % 4 for cycle in range(len(order))] and len(order) == 38
