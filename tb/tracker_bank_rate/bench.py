"""Bench of a tracker bank at one event per cycle, against the golden model, and then with stalls at
both ends.
"""

import itertools
import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence

import cocotb

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import Completion, ErrorReport, TrackerInput
from rtl.parameters import T3Parameters
from rtl.tracker.bank import TrackerBank
from sysmodel.engine.golden.tracker.completions import COMPLETIONS
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.golden import error_report
from tb.payload import Fields
from tb.stream import StreamChecker, offer
from tb.tracker_bank.events import end, update
from tb.tracker_bank.model import Model

PARAMETERS = T3Parameters(contexts=1)
_INPUT = Fields(TrackerInput(PARAMETERS))
_COMPLETION = Fields(Completion(PARAMETERS))
_REPORT = Fields(ErrorReport(PARAMETERS))
_STAGES = 3  # cycles from an event to its result
_ERRORS = (
    ErrorCode.SET_FULL,
    ErrorCode.NO_SHARE,
    ErrorCode.OVERRUN,
    ErrorCode.COUNT_OVERFLOW,
)
_TILES = 1200
_NO_ATOM = (1 << PARAMETERS.atom_address_bits) - 1  # start of a tile without atoms
_LIVE = 400  # tiles at a time, in 64 sets, of which some overflow

expect(
    "back to back, one tile",
    "back to back, one set",
    "two apart, one tile",
    "three apart, one tile",
    "completions full",
    "completion taken at once",
    *(code.name for code in _ERRORS),
)


def make_dut(block: type = TrackerBank):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


def _tile(event: Mapping[str, int]) -> tuple[int, int]:
    return event["dispatch_index"], event["wavefront"]


def _traffic(rng: random.Random) -> list[dict[str, int]]:
    """Draw events of many concurrent tiles, with one or two contributions; the events of one tile
    are in any order, and some tiles have an error.
    """
    p = PARAMETERS
    events, live = [], []
    tiles = scaled(_TILES)
    for number in range(tiles):
        dispatch_index, wavefront = divmod(number, p.wavefronts)
        tile = dispatch_index * 148 % (1 << p.dispatch_index_bits), wavefront
        edges = rng.randrange(2), rng.randrange(2)
        shares = rng.choice([[1], [1, 1], [2, 3]])
        atoms = [rng.randrange(8) for _ in shares]
        waiting = [
            end(*tile, count, *edges, shares=share, total=sum(shares))
            for count, share in zip(atoms, shares, strict=True)
        ]
        if rng.random() < 0.04:
            waiting.append(waiting[0] | {"shares": rng.choice([0, 1])})
        updates = sum(atoms) + (rng.random() < 0.05)
        while updates:
            count = rng.randint(1, updates)
            updates -= count
            waiting.append(update(*tile, rng.randrange(1 << p.atom_address_bits), count))
        rng.shuffle(waiting)
        live.append(waiting)
        while len(live) > (_LIVE if number < tiles - 1 else 0):
            index = rng.randrange(len(live))
            for _ in range(min(rng.randint(1, 4), len(live[index]))):
                events.append(live[index].pop())
            if not live[index]:
                live[index] = live[-1]
                live.pop()
    return events


def _cover(coming: Mapping[str, int] | None, ahead: list[Mapping[str, int] | None]) -> None:
    """Record the cover points of an arriving event; ``ahead`` are the events before it, latest
    first.
    """
    if coming is None:
        return
    same = [event is not None and _tile(event) == _tile(coming) for event in ahead]
    last = ahead[0]
    apart = (last["dispatch_index"] - coming["dispatch_index"]) if last else 1
    cover("back to back, one tile", same[0])
    cover("two apart, one tile", same[1])
    cover("three apart, one tile", same[2])
    cover("back to back, one set", last and apart % PARAMETERS.sets == 0 and not same[0])


class _Bench:
    """Bank, and its model."""

    def __init__(self, dut):
        self.dut, self.model = dut, Model(PARAMETERS)
        self.checker = StreamChecker(dut, ("i", "o"))
        self.completions: list[list[int]] = []  # completions that have left
        self.errors: list[list[int]] = []
        self._stages: list[Mapping[str, int] | None] = [None] * (_STAGES + 1)  # from the input on

    async def start(self) -> None:
        dut, model = self.dut, self.model
        await reset(dut, _INPUTS)
        dut.ways__0.value = (1 << PARAMETERS.ways) - 1
        model.state.contexts[0]["ways"] = (1 << PARAMETERS.ways) - 1
        cycles = 0
        while model.clearing:
            await self.cycle(None, take=False)
            cycles += 1
        assert cycles == PARAMETERS.sets // PARAMETERS.banks

    async def cycle(self, event: Mapping[str, int] | None, *, take: bool) -> bool:
        """Drive one cycle, in which the front chooses the event; return whether there is space."""
        dut, model, coming = self.dut, self.model, self._stages[0]
        offer(dut, "i", None if coming is None else _INPUT.pack(coming))
        dut.o__ready.value = int(take)
        _cover(coming, self._stages[1:])
        await settled()
        self.checker.sample()
        has_space = model.space
        assert bool(dut.space.value) == has_space
        assert bool(dut.clearing.value) == model.clearing
        assert bool(dut.empty.value) == model.empty
        assert not int(dut.corrected.value)
        cover("completions full", model.bank["completions_level"] == COMPLETIONS)
        completion = model.completion
        assert bool(dut.o__valid.value) == (completion is not None)
        if completion is not None:
            assert _COMPLETION.unpack(int(dut.o__payload.value)) == completion
            if take:
                self.completions.append(completion)
        chosen = event if has_space else None
        self._compare_error(model.step(chosen, take))
        cover("completion taken at once", completion and take and not model.completion)
        self._stages = [chosen, *self._stages[:-1]]
        await next_cycle(dut)
        return has_space

    def _compare_error(self, error: int) -> None:
        dut = self.dut
        assert bool(dut.error__valid.value) == (error != 0)
        if error:
            report = _REPORT.unpack(int(dut.error__report.value))
            assert report == error_report(error)
            self.errors.append(report[:4])  # code and tile
            cover(ErrorCode(report[0]).name)

    async def play(
        self,
        events: Iterable[Mapping[str, int]],
        offers: Callable[[], bool] = lambda: True,
        takes: Callable[[], bool] = lambda: True,
    ) -> int:
        """Drive all events, then wait until the bank is idle; return the number of cycles."""
        waiting, cycles = deque(events), 0
        while waiting or self.model.completion or self.model.bank["in_pipeline"]:
            event = waiting[0] if waiting and offers() else None
            if await self.cycle(event, take=takes()) and event:
                waiting.popleft()
            cycles += 1
        for _ in range(2):
            await self.cycle(None, take=True)
        return cycles


async def _start(dut) -> _Bench:
    bench = _Bench(dut)
    await bench.start()
    return bench


def _assert_one_completion_each(bench: _Bench, events: Sequence[Mapping[str, int]]) -> None:
    """Check that every tile without an error completed once, with its smallest atom and its
    edges.
    """
    found, tiles = defaultdict(list), defaultdict(list)
    for _, *tile, start, outer_edge, inner_edge in bench.completions:
        found[tuple(tile)].append((start, outer_edge, inner_edge))
    for event in events:
        tiles[_tile(event)].append(event)
    failed = {tuple(tile) for _, _, *tile in bench.errors}
    checked = 0
    for tile, its_events in tiles.items():
        updates = [event for event in its_events if not event["end"]]
        markers = [event for event in its_events if event["end"]]
        marker = markers[0]
        count = sum(event["count"] for event in updates)
        # A surplus update or marker may come after the completion, without an error.
        lawful = count == sum(event["tile_atoms"] for event in markers)
        lawful &= sum(event["shares"] for event in markers) == marker["total"]
        if tile not in failed and lawful:
            start = min((event["atom"] for event in updates), default=_NO_ATOM)
            assert found[tile] == [(start, marker["outer_edge"], marker["inner_edge"])]
            checked += 1
    assert checked > len(tiles) / 2


@cocotb.test()
async def full_rate(dut):
    """The bank accepts an event in every cycle, whatever tiles and sets follow each other."""
    events = _traffic(random.Random(cocotb.RANDOM_SEED))
    bench = await _start(dut)
    assert await bench.play(events) <= len(events) + _STAGES + 2
    _assert_one_completion_each(bench, events)


@cocotb.test()
async def stalls(dut):
    """Both ends stall for some time, and no event is lost."""
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    events = _traffic(rng)
    hesitation = itertools.cycle([0.1] * 500 + [0.5] * 500 + [0.97] * 500)
    bench = await _start(dut)
    await bench.play(events, lambda: rng.random() < 0.9, lambda: rng.random() > next(hesitation))
    _assert_one_completion_each(bench, events)


@cocotb.test()
async def completions_wait(dut):
    """Tiles that complete in consecutive cycles and are not accepted fill all places for
    completions.
    """
    tiles = [(dispatch_index, 1) for dispatch_index in range(40)]
    events = [update(*tile, atom=tile[0], count=2) for tile in tiles]
    events += [end(*tile, 2) for tile in tiles]
    busy = iter([False] * 70 + [True, False, False] * 20)
    bench = await _start(dut)
    await bench.play(events, takes=lambda: next(busy, True))
    assert bench.completions == [[0, *tile, tile[0], 0, 0] for tile in tiles] and not bench.errors


@cocotb.test()
async def more_updates_than_an_entry_counts(dut):
    """One update more than an entry can count frees the entry; the entry of a second tile in the
    set stays.
    """
    most = (1 << PARAMETERS.count_bits) - 1
    counts = [15] * (most // 15) + [most % 15]
    beside = 7 + PARAMETERS.sets
    events = [update(beside, atom=5, count=2)]
    events += [update(7, atom=9, count=count) for count in counts if count]
    events += [update(7, atom=0), end(beside, tile_atoms=2)]
    events += [update(7, atom=3, count=4), end(7, tile_atoms=4)]
    bench = await _start(dut)
    await bench.play(events)
    assert bench.errors == [[ErrorCode.COUNT_OVERFLOW.value, 0, 7, 0]]
    assert bench.completions == [[0, beside, 0, 5, 0, 0], [0, 7, 0, 3, 0, 0]]
