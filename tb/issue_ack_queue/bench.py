"""Bench of the issue acknowledgement queue: acknowledgements of few tiles, compared with the golden
model in every cycle.
"""

import random

import cocotb
import numpy as np

from rtl.channel.issue_ack_queue import IssueAckQueue
from rtl.interface.layouts import IssueAck, TileUpdates
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.channel.issue_acks import step_issue_acks
from sysmodel.engine.golden.channel.queues import (
    D,
    Q,
    commit,
    has,
    has_space,
    mark,
    position,
    waiting,
)
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state, words
from tb.payload import Fields
from tb.stream import Pace, StreamChecker, offer

PARAMETERS = T3Parameters(
    address_bits=20, tile_atom_bits=7, workgroup_bits=6, sets=8, ways=2, wavefronts=4, contexts=2
)
_ISSUE_ACK = Fields(IssueAck(PARAMETERS))
_UPDATES = Fields(TileUpdates(PARAMETERS))
_BITS = {name: value.bit_length() for name, value in _ISSUE_ACK.named(-1).items()}
_CYCLES = 3000
_MOST = 15

expect(
    "full",
    "refused while full and giving",
    "into the empty queue",
    "joins behind the head",
    "joins in the last place",
    "joins what moves to the head",
    "same tile as the head alone",
    "same tile as the head that leaves",
    "count full, a new event",
    "lower atom",
    "higher atom",
    "same dispatch index, other wavefront",
    "same wavefront, other dispatch index",
    "same tile of another context",
)


def make_dut(block: type = IssueAckQueue):
    return block(PARAMETERS, depth=D.issue_acks)


_INPUTS = inputs_of(make_dut())


class _Bench:
    """Issue acknowledgement queue, and its model."""

    def __init__(self, dut):
        self.dut = dut
        self.checker = StreamChecker(dut, ("i", "o"))
        self.state = golden_state(PARAMETERS)
        self.levels = self.heads = 0
        self.put = self.taken = 0  # updates

    def _event(self, index: int) -> np.void:
        return self.state.channels[0]["issue_acks"][position(self.heads, Q.issue_acks, index)]

    async def cycle(self, issue_ack: dict[str, int] | None, *, ready: bool) -> bool:
        """Drive one cycle; return whether the issue acknowledgement was accepted."""
        dut = self.dut
        payload = None if issue_ack is None else _ISSUE_ACK.pack(issue_ack)
        offer(dut, "i", payload)
        dut.o__ready.value = int(ready)
        await settled()
        self.checker.sample()
        can, gives = (
            has_space(self.levels, Q.issue_acks, D.issue_acks),
            has(self.levels, Q.issue_acks),
        )
        assert bool(dut.i__ready.value) == can
        assert bool(dut.o__valid.value) == gives
        if gives:
            assert _UPDATES.unpack(int(dut.o__payload.value)) == words(self._event(0))
        taken, popped = issue_ack is not None and can, gives and ready
        if popped:
            self.taken += int(self._event(0)["count"])
        assert bool(dut.clock_enable.value) == (taken or popped)
        cover("full", not can)
        cover("refused while full and giving", issue_ack and not can and popped)
        pushed = 0
        if taken:
            self._cover(issue_ack, popped)
            where = [issue_ack[name] for name in ("atom", "owner", "dispatch_index", "wavefront")]
            # The model's buffer in front of the queue stays empty, so the acknowledgement bypasses
            # it.
            pushed, *_ = step_issue_acks(
                self.state.gpu["injection"],
                self.state.channels[0],
                self.levels,
                self.heads,
                True,
                *where,
            )
            self.put += 1
        self.levels, self.heads = commit(
            self.levels, self.heads, mark(Q.issue_acks) * popped, pushed
        )
        await next_cycle(dut)
        return taken

    def _cover(self, issue_ack: dict[str, int], popped: bool) -> None:
        tile = issue_ack["dispatch_index"], issue_ack["wavefront"], issue_ack["owner"]
        events = [self._event(index) for index in range(waiting(self.levels, Q.issue_acks))]
        tiles = [(event["dispatch_index"], event["wavefront"], event["owner"]) for event in events]
        matches = [index for index, other in enumerate(tiles) if other == tile]
        behind = [index for index in matches if index]
        open_ = [index for index in behind if events[index]["count"] < _MOST]
        cover("into the empty queue", not events)
        cover("joins behind the head", open_)
        cover("joins in the last place", open_ == [D.issue_acks - 2])
        cover("joins what moves to the head", open_ == [1] and popped)
        cover("same tile as the head alone", matches == [0] and not popped)
        cover("same tile as the head that leaves", matches == [0] and popped)
        cover("count full, a new event", behind and not open_)
        if open_:
            cover("lower atom", issue_ack["atom"] < events[open_[0]]["atom"])
            cover("higher atom", issue_ack["atom"] > events[open_[0]]["atom"])
        elif not matches:
            cover("same dispatch index, other wavefront", any(t[0] == tile[0] for t in tiles[1:]))
            cover("same wavefront, other dispatch index", any(t[1] == tile[1] for t in tiles[1:]))
            cover("same tile of another context", any(t[:2] == tile[:2] for t in tiles[1:]))


def _random_issue_ack(rng: random.Random, tiles: int, last_atom: int) -> dict[str, int]:
    """Draw an issue acknowledgement; its atom often differs from the last one in one bit, which
    then decides which is lower."""
    tile, bits = rng.randrange(tiles), PARAMETERS.atom_address_bits
    return {
        "access": rng.randrange(3),  # ignored
        "atom": rng.choice([last_atom ^ 1 << rng.randrange(bits), rng.getrandbits(bits)]),
        "owner": int(rng.random() < 0.2),
        "dispatch_index": [0, 0, 1, 1, 33, 63, 62, 31, 15, 47][tile % 10],
        "wavefront": [0, 1, 0, 1, 2, 3, 3, 3, 2, 1][tile % 10],
    }


@cocotb.test()
async def random_traffic(dut):
    """No update is lost: the updates that entered have left, or are in the queue."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench, issue_ack, atom = _Bench(dut), None, 0
    pace = Pace(rng, ("put", "take"), rates=(0.05, 0.5, 0.9, 1))
    for cycle in range(scaled(_CYCLES)):
        if cycle % 50 == 0:
            tiles = rng.choice([1, 2, 4, 10])
        acts = pace.acts()
        if issue_ack is None and acts["put"]:
            issue_ack = _random_issue_ack(rng, tiles, atom)
            atom = issue_ack["atom"]
        if await bench.cycle(issue_ack, ready=acts["take"]):
            issue_ack = None
    for _ in range(D.issue_acks + 3):  # a stream holds its offer, which enters, too
        if await bench.cycle(issue_ack, ready=True):
            issue_ack = None
    assert bench.put == bench.taken


@cocotb.test()
async def many_updates_of_one_tile(dut):
    """Updates of a tile fill one event after another until the queue is full; then it empties."""
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    tile = {"owner": 1, "dispatch_index": 5, "wavefront": 1}
    # The head keeps its single update, and the last event fills the queue.
    for number in range(1 + (D.issue_acks - 2) * _MOST + 1):
        # The smallest atom comes first, last or between.
        assert await bench.cycle({"atom": number * 37 % 101, **tile}, ready=False)
    late = {"atom": 0, **tile}
    assert not await bench.cycle(late, ready=False)
    assert not await bench.cycle(late, ready=True)
    assert await bench.cycle(late, ready=False)
    for _ in range(D.issue_acks + 1):
        await bench.cycle(None, ready=True)
    assert bench.put == bench.taken


@cocotb.test()
async def reset_empties_it(dut):
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    for events in range(1, D.issue_acks + 1):
        await reset(dut, _INPUTS)
        bench = _Bench(dut)
        for _ in range(events):
            issue_ack = _ISSUE_ACK.named(rng.getrandbits(_ISSUE_ACK.width))
            await bench.cycle(issue_ack, ready=False)
    await reset(dut, _INPUTS)
    await _Bench(dut).cycle(None, ready=True)


@cocotb.test()
async def different_tiles(dut):
    """Each place of the queue holds every bit of an event: a queue full of random events empties
    correctly.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    for _ in range(scaled(60)):
        for _ in range(D.issue_acks):
            issue_ack = _ISSUE_ACK.named(rng.getrandbits(_ISSUE_ACK.width))
            await bench.cycle(issue_ack, ready=False)
        for _ in range(D.issue_acks):
            await bench.cycle(None, ready=True)
    assert bench.put == bench.taken


@cocotb.test()
async def all_but_a_bit(dut):
    """In every place, a tile that differs from a waiting tile in a single bit does not join its
    event.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    for _ in range(scaled(40)):
        known = []
        for _ in range(rng.randrange(2, D.issue_acks)):
            known.append(_ISSUE_ACK.named(rng.getrandbits(_ISSUE_ACK.width)))
            await bench.cycle(known[-1], ready=False)
        for _ in range(D.issue_acks):
            near = dict(rng.choice(known))
            field = rng.choice(["atom", "owner", "dispatch_index", "wavefront"])
            near[field] ^= 1 << rng.randrange(_BITS[field])
            while not await bench.cycle(near, ready=rng.random() < 0.3):
                pass
        for _ in range(D.issue_acks):
            await bench.cycle(None, ready=True)
    assert bench.put == bench.taken
