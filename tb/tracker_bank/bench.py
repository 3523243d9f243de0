"""Bench of a tracker bank: random events of few tiles in few sets, compared with the golden model
in every cycle.

In contrast to :mod:`tb.tracker_bank_rate`, which has the tiles of kernels, the table is cleared
while events are in the pipeline, the shares of a tile change, and most events are errors.
"""

import random
from collections import deque

import cocotb
import numpy as np

from rtl.interface.encodings import ErrorCode, InjectTarget
from rtl.interface.layouts import Completion, ErrorReport, TrackerInput
from rtl.tracker.bank import TrackerBank
from sysmodel.engine.golden.tracker.completions import COMPLETIONS
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.golden import arm_bit_errors, error_report, strobe_scrubber
from tb.payload import Fields
from tb.stream import Pace, StreamChecker, offer
from tb.tracker_bank.events import end, update
from tb.tracker_bank.flips import (
    PARAMETERS,
    bit_errors_in_flight,
    double_bit_error,
    single_bit_error,
    the_scrubber_finds_it,
)
from tb.tracker_bank.model import Model

__all__ = [
    "make_dut",
    "single_bit_error",
    "the_scrubber_finds_it",
    "double_bit_error",
    "bit_errors_in_flight",
]

_INPUT = Fields(TrackerInput(PARAMETERS))
_COMPLETION, _REPORT = Fields(Completion(PARAMETERS)), Fields(ErrorReport(PARAMETERS))
_ERRORS = (
    ErrorCode.SET_FULL,
    ErrorCode.NO_SHARE,
    ErrorCode.OVERRUN,
    ErrorCode.COUNT_OVERFLOW,
)
_CYCLES = 6000
_STAGES = 3  # cycles from an event to its result

expect(
    *(code.name for code in _ERRORS),
    "back-to-back hits to one entry",
    "set conflict: two tags in consecutive cycles",
    "set conflict: two tags, one cycle between",
    "consecutive sets",
    "tile of one atom",
    "edge tile",
    "end-of-tile marker alone",
    "every entry in use",
    "completions full",
    "no space",
    "completions in consecutive cycles",
    "clear while busy",
    "clear while clearing",
    "clear as an entry is counted",
    "clear as an event comes",
    "clear with completions waiting",
    "event of an aborted context",
    "same tile of another context",
    "ways divided",
    "a later marker of a tile",
    "a later marker with a lower total",
    "a marker of several shares",
    "a marker of too many shares",
    "a marker without atoms",
    "a tile without atoms",
    "the last marker before the last update",
    "the last marker behind the last update",
    "more updates than the first marker announces",
    "injected: one bit corrected",
    "injected: two bits reported",
    "injected: corrected while a context is forgotten",
    "injection ends without a word",
    "the scrubber corrects",
    "the scrubber gives way to a write",
)


_CONTEXTS = range(PARAMETERS.contexts)
_ALL_WAYS = (1 << PARAMETERS.ways) - 1
_NO_ATOM = (1 << PARAMETERS.atom_address_bits) - 1  # start of a tile without atoms


def make_dut(block: type = TrackerBank):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


def _entries(model: Model) -> int:
    """Return the number of entries in use."""
    return int(model.state.entries["valid_entry"].sum())


class _Bench:
    """Bank, and its model."""

    def __init__(self, dut):
        self.dut, self.model = dut, Model(PARAMETERS)
        self.checker = StreamChecker(dut, ("i", "o"))
        self.completions: list[list[int]] = []  # completions that have left
        self.errors: list[list[int]] = []
        self.put = 0  # events that were accepted
        self._coming: dict[str, int] | None = None  # event chosen in the previous cycle
        self._ahead: deque = deque([None] * _STAGES, maxlen=_STAGES)  # latest event last
        self._completed = False

    def configure(self, ways: int, context: int) -> None:
        getattr(self.dut, f"ways__{context}").value = ways
        self.model.state.contexts[context]["ways"] = ways

    async def cycle(
        self,
        event: dict[str, int] | None,
        *,
        take: bool = True,
        clear: int = 0,
        aborting: int = 0,
        inject: int | None = None,
        scrub: bool = False,
    ) -> bool:
        """Drive one cycle, in which the front chooses the event; return whether there is space.
        ``inject`` is the number of bit errors to inject, None without the strobe.
        """
        dut, model = self.dut, self.model
        coming = None if self._coming is None else _INPUT.pack(self._coming)
        offer(dut, "i", coming)
        dut.o__ready.value, dut.clear.value, dut.aborting.value = int(take), clear, aborting
        dut.scrub.value = int(scrub)
        dut.inject__set.value = int(inject is not None)
        dut.inject__select.value, dut.inject__double.value = int(bool(inject)), int(inject == 2)
        await settled()
        self.checker.sample()
        has_space = model.space
        assert bool(dut.space.value) == has_space
        assert int(dut.clearing.value) == model.clearing
        assert int(dut.empty.value) == model.empty
        armed = bool(model.gpu["injection"]["bank_waits"])
        assert bool(dut.inject__armed.value) == armed
        cover("injection ends without a word", armed and inject == 0)
        completion = model.completion
        assert bool(dut.o__valid.value) == (completion is not None)
        if completion is not None:
            assert _COMPLETION.unpack(int(dut.o__payload.value)) == completion
            if take:
                self.completions.append(completion)
        self._cover(completion, clear)
        chosen = event if has_space else None
        forgets = model.clearing
        holds = bool(model.bank["fix_waits"])
        model.state.contexts["aborted"] = [aborting >> context & 1 for context in _CONTEXTS]
        strobe_scrubber(model.state, scrub)
        if inject is not None:
            arm_bit_errors(model.state, InjectTarget.TRACKER, inject)
        error = model.step(chosen, take, clear)
        corrected = bool(model.gpu["corrections"]["corrected_before"])
        scrubbed = bool(model.gpu["scrubber"]["scrubbed_before"])
        assert bool(dut.scrub_corrected.value) == scrubbed
        cover("the scrubber corrects", scrubbed)
        cover("the scrubber gives way to a write", holds and not scrubbed)
        assert bool(dut.corrected.value) == corrected
        cover("injected: one bit corrected", corrected)
        cover("injected: corrected while a context is forgotten", corrected and forgets)
        assert bool(dut.error__valid.value) == (error != 0)
        if error:
            report = _REPORT.unpack(int(dut.error__report.value))
            assert report == error_report(error)
            self.errors.append(report)
            lost = report[0] == ErrorCode.TRACKER_CORRUPT.value
            cover("injected: two bits reported" if lost else ErrorCode(report[0]).name)
        self.put += chosen is not None
        if self._coming:
            cover("event of an aborted context", aborting >> self._coming["owner"] & 1)
        self._ahead.append(self._coming)
        self._coming = chosen
        await next_cycle(dut)
        return has_space

    def _cover(self, completion: list[int] | None, clear: bool) -> None:
        model, coming = self.model, self._coming
        cover("completions full", model.bank["completions_level"] == COMPLETIONS)
        cover("no space", not model.space and not model.clearing)
        cover("every entry in use", _entries(model) == PARAMETERS.sets * PARAMETERS.ways)
        if clear:
            cover("clear while busy", model.bank["in_pipeline"])
            cover("clear while clearing", model.clearing)
            counts = model.state.contexts["tracker"]["entries_change"]
            cover("clear as an entry is counted", counts.any())
            cover("clear as an event comes", coming)
            cover("clear with completions waiting", completion is not None)
        if coming is None:
            return
        *_, before, last = self._ahead
        cover("back-to-back hits to one entry", last and _tile(last) == _tile(coming))
        for event, name in (
            (last, "set conflict: two tags in consecutive cycles"),
            (before, "set conflict: two tags, one cycle between"),
        ):
            cover(name, event and _set(event) == _set(coming) and _tile(event) != _tile(coming))
        other = last and _tile(last)[1:] == _tile(coming)[1:]
        cover("same tile of another context", other and last["owner"] != coming["owner"])
        cover("consecutive sets", last and _set(last) != _set(coming))
        cover("tile of one atom", coming["end"] and coming["tile_atoms"] == 1)
        cover("edge tile", coming["end"] and (coming["outer_edge"] or coming["inner_edge"]))
        cover("end-of-tile marker alone", coming["end"] and not _entries(model))
        if all(event is None or _tile(event) != _tile(coming) for event in self._ahead):
            self._cover_shares(coming, model.entry_of(coming))

    def _cover_shares(self, coming: dict[str, int], entry: np.void | None) -> None:
        """Record the cover points of an event of a tile, whose entry is up to date."""
        known = entry is not None and bool(entry["known"])
        balance = 0 if entry is None else int(np.int64(entry["balance"]))
        if not coming["end"]:
            cover("more updates than the first marker announces", known and balance == 0)
            return
        missing = int(entry["missing"]) if known else coming["total"]
        shares, tile_atoms = coming["shares"], coming["tile_atoms"]
        last = shares == missing
        cover("a later marker of a tile", known and shares)
        cover("a later marker with a lower total", known and last and coming["total"] < shares)
        cover("a marker of several shares", last and shares > 1)
        cover("a marker of too many shares", 0 < missing < shares)
        cover("a marker without atoms", known and shares and not tile_atoms)
        cover("a tile without atoms", entry is None and last and not tile_atoms)
        cover("the last marker before the last update", known and last and tile_atoms > balance)
        cover("the last marker behind the last update", known and last and tile_atoms == balance)


def _tile(event: dict[str, int]) -> tuple[int, int, int]:
    return event["owner"], event["dispatch_index"], event["wavefront"]


def _set(event: dict[str, int]) -> int:
    return event["dispatch_index"] % PARAMETERS.sets


async def _start(dut) -> _Bench:
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    for context in _CONTEXTS:
        bench.configure(_ALL_WAYS, context)
    for _ in range(PARAMETERS.sets):
        assert bench.model.clearing
        await bench.cycle(None)
    assert not bench.model.clearing
    return bench


@cocotb.test()
async def random_traffic(dut):
    await _random(dut, random.Random(cocotb.RANDOM_SEED))


@cocotb.test()
async def random_injections(dut):
    """Random events agree with the model when entries have one or two bit errors and the scrubber
    runs.
    """
    await _random(dut, random.Random(cocotb.RANDOM_SEED + 4), injections=0.1)


async def _random(dut, rng: random.Random, *, injections: float = 0) -> None:
    bench = await _start(dut)
    pace = Pace(rng, ("put", "take"), rates=(0.05, 0.3, 0.6, 1, 1, 1), cycles=50)
    atom = 0
    for cycle in range(scaled(_CYCLES)):
        if cycle % 100 == 0:
            # One tile, the tiles of one set, or more tiles than the table holds, of few dispatch
            # indices.
            first = rng.choice([0, 1, 37, rng.getrandbits(PARAMETERS.dispatch_index_bits)])
            step, count = rng.choice([(1, 1), (PARAMETERS.sets, 3), (1, 3), (1, 5)])
            waves, ends = rng.choice([1, 2, PARAMETERS.wavefronts]), rng.choice([0.05, 0.3, 0.4])
            shared = rng.choice([0, 0.5, 0.5, 1])
            total = rng.choice([1, 1, 2, 3])
        if rng.random() < 0.02:
            ways = rng.choice([_ALL_WAYS, _ALL_WAYS, 1])
            cover("ways divided", ways != _ALL_WAYS)
            for context, mask in zip(_CONTEXTS, (ways, _ALL_WAYS ^ ways or _ALL_WAYS), strict=True):
                bench.configure(mask, context)
        dispatch_index = (first + step * rng.randrange(count)) % (
            1 << PARAMETERS.dispatch_index_bits
        )
        tile = dispatch_index, rng.randrange(waves)
        owner = int(rng.random() < shared)
        if rng.random() < ends:
            edges = rng.getrandbits(1), rng.getrandbits(1)
            shares = rng.choice([total, total, 1, 1, 1, rng.randrange(4)])
            of_tile = total if rng.random() < 0.9 else rng.randrange(4)
            event = end(
                *(*tile, rng.choice([0, 0, 1, 2, 2, 4, 15]), *edges),
                **{"owner": owner, "shares": shares, "total": of_tile},
            )
        else:
            count_ = rng.choice([1, 1, 2, 2, rng.randint(1, 15)])
            # A new atom, or the last atom with one bit inverted; this bit decides which atom is
            # lower.
            near = atom ^ 1 << rng.randrange(PARAMETERS.atom_address_bits)
            atom = rng.choice([near, rng.getrandbits(PARAMETERS.atom_address_bits)])
            event = update(*tile, atom, count_, owner=owner)
        acts = pace.acts()
        clears = rng.random() < (0.15 if bench.model.clearing else 0.004)
        clear = rng.randrange(1, 4) if clears else 0
        aborting = rng.randrange(1, 4) if rng.random() < 0.03 else 0
        taken = len(bench.completions)
        injects = injections and rng.random() < injections
        await bench.cycle(
            event if acts["put"] else None,
            take=acts["take"],
            clear=clear,
            aborting=aborting,
            inject=rng.choice([0, 1, 1, 2]) if injects else None,
            scrub=injections > 0 and rng.random() < 0.3,
        )
        moved = len(bench.completions) > taken
        cover("completions in consecutive cycles", moved and bench._completed)
        bench._completed = moved


async def _play(bench: _Bench, events: list[dict[str, int]]) -> None:
    """Drive events in consecutive cycles, then wait until the bank is idle."""
    for event in events:
        for _ in range(40):
            if await bench.cycle(event):
                break
        else:
            raise AssertionError("There is no space")
    for _ in range(20):
        await bench.cycle(None)
    assert not bench.dut.clock_enable.value


@cocotb.test()
async def one_result_for_each_tile(dut):
    """Updates and markers of a tile are counted in consecutive cycles, in any order: the tile
    completes with the last of them, and not before.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    bench = await _start(dut)
    expected, events = [], []
    for number in range(40):
        tile = (
            rng.randrange(1 << PARAMETERS.dispatch_index_bits),
            rng.randrange(PARAMETERS.wavefronts),
        )
        edges = rng.getrandbits(1), rng.getrandbits(1)
        contributions = [rng.randint(0, 7) for _ in range(rng.randint(1, 3))]
        if number < 8:
            contributions = [number % 2]
        atoms = [rng.getrandbits(PARAMETERS.atom_address_bits) for _ in range(sum(contributions))]
        mine = [update(*tile, atom) for atom in atoms]
        shares = [1] * len(contributions)
        shares[0] = rng.randint(1, 4 - len(contributions))
        for tile_atoms, share in zip(contributions, shares, strict=True):
            mine.append(end(*tile, tile_atoms, *edges, shares=share, total=sum(shares)))
        rng.shuffle(mine)
        events += mine
        expected.append([0, *tile, min(atoms, default=_NO_ATOM), *edges])
    await _play(bench, events)
    assert bench.completions == expected and not bench.errors
    assert not _entries(bench.model)


@cocotb.test()
async def a_clear_loses_all_tiles(dut):
    """At any time of the strobe, a clear removes all entries of a context and all its events that
    arrive until the end of the clear; the tiles of the other context stay.
    """
    for after in range(10):
        bench = await _start(dut)
        tiles = [(dispatch_index, 1) for dispatch_index in range(PARAMETERS.sets)]
        events = [update(*tile, 7, 1, owner=owner) for tile in tiles for owner in _CONTEXTS]
        waiting = deque(events)
        for cycle in range(10 + len(events) + 2 * PARAMETERS.sets):
            event = waiting[0] if waiting else None
            if await bench.cycle(event, clear=0b01 if cycle == after else 0) and event:
                waiting.popleft()
        assert not bench.model.clearing and not waiting
        lost = bench.model.empty & 1
        ends = [end(*tile, 2, owner=owner) for tile in tiles for owner in _CONTEXTS]
        await _play(bench, ends)
        assert not bench.completions and not bench.errors
        await _play(bench, [update(*tile, 9, 1, owner=1) for tile in tiles])
        assert bench.completions == [[1, *tile, 7, 0, 0] for tile in tiles]
        if lost:
            bench.completions.clear()
            await _play(bench, [update(*tile, 9, 2) for tile in tiles])
            assert bench.completions == [[0, *tile, 9, 0, 0] for tile in tiles]


@cocotb.test()
async def completions_wait(dut):
    """All tiles in the table complete at the same time, in both contexts: each completion has
    space, and survives a clear.
    """
    tiles = [
        (dispatch_index, wave)
        for wave in range(PARAMETERS.ways)
        for dispatch_index in range(PARAMETERS.sets)
    ]
    for owner in _CONTEXTS:
        bench = await _start(dut)
        updates = [update(*tile, index, 1, owner=owner) for index, tile in enumerate(tiles)]
        await _play(bench, updates)
        for tile in tiles:
            assert await bench.cycle(end(*tile, owner=owner), take=False)
        for cycle in range(20):
            await bench.cycle(None, take=False, clear=0b11 if cycle == 10 else 0)
        assert not bench.completions and bench.model.bank["completions_level"] == COMPLETIONS
        await _play(bench, [])
        assert bench.completions == [
            [owner, *tile, index, 0, 0] for index, tile in enumerate(tiles)
        ]


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, _INPUTS)
