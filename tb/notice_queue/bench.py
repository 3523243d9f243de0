# amaranth: UnusedElaboratable=no
"""Notices of few tiles, in every cycle against the golden model's queue."""

import random

import cocotb

from rtl.channel.notice_queue import NoticeQueue
from rtl.interface.layouts import Notice, TileUpdates
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.notices import take_notice
from sysmodel.engine.golden.queues import D, Q, commit, has, mark, record, room, waiting
from sysmodel.engine.golden.state import UPDATES, K
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state
from tb.payload import Fields
from tb.stream import Pace, StreamChecker

PARAMETERS = T3Parameters(address_bits=20, workgroup_bits=6, sets=8, ways=2, wavefronts=4)
_NOTICE = Fields(Notice(PARAMETERS))
_UPDATES = Fields(TileUpdates(PARAMETERS))
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
    "same place, other wavefront",
    "same wavefront, other place",
)


def make_dut(block: type = NoticeQueue):
    return block(PARAMETERS, depth=D.notices)


_INPUTS = inputs_of(make_dut())


class _Bench:
    """The queue and its model."""

    def __init__(self, dut):
        self.dut = dut
        self.checker = StreamChecker(dut, ("i", "o"))
        self.state = golden_state(PARAMETERS)
        self.levels = self.heads = 0
        self.put = self.taken = 0  # updates

    def _event(self, position: int) -> list[int]:
        at = record(K.body, self.heads, Q.notices, position)
        return [int(word) for word in self.state.channels[at : at + len(UPDATES)]]

    async def cycle(self, notice: dict[str, int] | None, *, ready: bool) -> bool:
        """One cycle; gives whether the notice was taken."""
        dut = self.dut
        dut.i__valid.value = int(notice is not None)
        if notice:
            dut.i__payload.value = _NOTICE.pack(notice)
        dut.o__ready.value = int(ready)
        await settled()
        self.checker.sample()
        can, gives = room(self.levels, Q.notices, D.notices), has(self.levels, Q.notices)
        assert bool(dut.i__ready.value) == can
        assert bool(dut.o__valid.value) == gives
        if gives:
            assert _UPDATES.unpack(int(dut.o__payload.value)) == self._event(0)
        taken, popped = notice is not None and can, gives and ready
        if popped:
            self.taken += self._event(0)[UPDATES.count]
        cover("full", not can)
        cover("refused while full and giving", notice and not can and popped)
        pushed = 0
        if taken:
            self._cover(notice, popped)
            where = [notice[name] for name in ("atom", "place", "wavefront")]
            # The model's buffer in front of the queue stays empty: the notice goes straight on.
            pushed = take_notice(self.state, 0, 0, self.levels, self.heads, True, *where)
            self.put += 1
        self.levels, self.heads = commit(self.levels, self.heads, mark(Q.notices) * popped, pushed)
        await next_cycle(dut)
        return taken

    def _cover(self, notice: dict[str, int], popped: bool) -> None:
        tile = notice["place"], notice["wavefront"]
        events = [self._event(position) for position in range(waiting(self.levels, Q.notices))]
        tiles = [(event[UPDATES.place], event[UPDATES.wavefront]) for event in events]
        matches = [index for index, other in enumerate(tiles) if other == tile]
        behind = [index for index in matches if index]
        open_ = [index for index in behind if events[index][UPDATES.count] < _MOST]
        cover("into the empty queue", not events)
        cover("joins behind the head", open_)
        cover("joins in the last place", open_ == [D.notices - 2])
        cover("joins what moves to the head", open_ == [1] and popped)
        cover("same tile as the head alone", matches == [0] and not popped)
        cover("same tile as the head that leaves", matches == [0] and popped)
        cover("count full, a new event", behind and not open_)
        if open_:
            cover("lower atom", notice["atom"] < events[open_[0]][UPDATES.atom])
            cover("higher atom", notice["atom"] > events[open_[0]][UPDATES.atom])
        elif not matches:
            cover("same place, other wavefront", any(t[0] == tile[0] for t in tiles[1:]))
            cover("same wavefront, other place", any(t[1] == tile[1] for t in tiles[1:]))


def _random_notice(rng: random.Random, tiles: int) -> dict[str, int]:
    tile = rng.randrange(tiles)
    return {
        "access": rng.randrange(3),  # not looked at
        "atom": rng.getrandbits(PARAMETERS.atom_address_bits),
        "place": [0, 0, 1, 1, 33, 63, 62, 31, 15, 47][tile % 10],
        "wavefront": [0, 1, 0, 1, 2, 3, 3, 3, 2, 1][tile % 10],
    }


@cocotb.test()
async def random_traffic(dut):
    """No update is lost: what went in and what left differ by what waits."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench, notice = _Bench(dut), None
    pace = Pace(rng, ("put", "take"), rates=(0.05, 0.5, 0.9, 1))
    for cycle in range(scaled(_CYCLES)):
        if cycle % 50 == 0:
            tiles = rng.choice([1, 2, 4, 10])
        acts = pace.acts()
        if notice is None and acts["put"]:
            notice = _random_notice(rng, tiles)
        if await bench.cycle(notice, ready=acts["take"]):
            notice = None
    for _ in range(D.notices + 1):
        await bench.cycle(None, ready=True)
    assert bench.put == bench.taken


@cocotb.test()
async def many_updates_of_one_tile(dut):
    """They fill event after event; then the queue is full of the tile, and empties."""
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    tile = {"place": 5, "wavefront": 1}
    # The head keeps its one, and the last event's place makes the queue full.
    for number in range(1 + (D.notices - 2) * _MOST + 1):
        # The smallest atom comes first, last or between.
        assert await bench.cycle({"atom": number * 37 % 101, **tile}, ready=False)
    late = {"atom": 0, **tile}
    assert not await bench.cycle(late, ready=False)
    assert not await bench.cycle(late, ready=True)
    assert await bench.cycle(late, ready=False)
    for _ in range(D.notices + 1):
        await bench.cycle(None, ready=True)
    assert bench.put == bench.taken
