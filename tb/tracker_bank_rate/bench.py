# amaranth: UnusedElaboratable=no
"""A bank at one event per cycle against the reference: full rate, then with stalls at both ends."""

import itertools
import random
from collections import Counter

import cocotb

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import Completion, ErrorReport, TrackerInput
from rtl.parameters import T3Parameters
from rtl.tracker.bank import TrackerBank
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.payload import Fields
from tb.stream import StreamChecker
from tb.tracker_bank_rate.reference import Event, TrackerReference

PARAMETERS = T3Parameters()
UPDATES_PER_ATOM = 2
_INPUT = Fields(TrackerInput(PARAMETERS))
_COMPLETION = Fields(Completion(PARAMETERS))
_REPORT = Fields(ErrorReport(PARAMETERS))
_STAGES = 3  # cycles from an event to its result
_COMPLETIONS = 8  # that wait at most
_ERRORS = (
    ErrorCode.SET_FULL,
    ErrorCode.ZERO_THRESHOLD,
    ErrorCode.SECOND_END_OF_TILE,
    ErrorCode.OVERRUN,
    ErrorCode.COUNT_OVERFLOW,
)
_TILES = 1200
_LIVE = 400  # at a time, in 64 sets, some of which overflow

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


def _traffic(rng: random.Random) -> list[Event]:
    """Events of many tiles at a time, each tile's in any order, some tiles with an error."""
    p = PARAMETERS
    events, live = [], []
    tiles = scaled(_TILES)
    for number in range(tiles):
        dispatch_index, wavefront = divmod(number, p.wavefronts)
        dispatch_index = dispatch_index * 148 % (1 << p.dispatch_index_bits)
        tile_atoms = rng.randrange(8)
        end = Event(
            end=1,
            dispatch_index=dispatch_index,
            wavefront=wavefront,
            tile_atoms=tile_atoms,
            outer_edge=rng.randrange(2),
            inner_edge=rng.randrange(2),
        )
        updates = tile_atoms * UPDATES_PER_ATOM + (rng.random() < 0.05)
        tile = [end] * (1 + (rng.random() < 0.02))
        while updates:
            count = rng.randint(1, updates)
            updates -= count
            atom = rng.randrange(1 << p.atom_address_bits)
            tile.append(
                Event(dispatch_index=dispatch_index, wavefront=wavefront, atom=atom, count=count)
            )
        rng.shuffle(tile)
        live.append(tile)
        while len(live) > (_LIVE if number < tiles - 1 else 0):
            index = rng.randrange(len(live))
            for _ in range(min(rng.randint(1, 4), len(live[index]))):
                events.append(live[index].pop())
            if not live[index]:
                live[index] = live[-1]
                live.pop()
    return events


async def _start(dut) -> None:
    await reset(dut, _INPUTS)
    dut.updates_per_atom.value = UPDATES_PER_ATOM
    cycles = 0
    while int(dut.clearing.value):
        assert not int(dut.room.value)
        assert cycles < PARAMETERS.sets
        await next_cycle(dut)
        cycles += 1
    assert cycles == PARAMETERS.sets // PARAMETERS.banks


def _cover(coming: Event | None, ahead: list[Event | None]) -> None:
    """``ahead``: the events before this one, the latest first."""
    if coming is None:
        return
    dispatch_index = coming.dispatch_index
    same = [
        e is not None and (e.dispatch_index, e.wavefront) == (dispatch_index, coming.wavefront)
        for e in ahead
    ]
    sets = PARAMETERS.sets
    shares_set = ahead[0] is not None and (ahead[0].dispatch_index - dispatch_index) % sets == 0
    cover("back to back, one tile", same[0])
    cover("two apart, one tile", same[1])
    cover("three apart, one tile", same[2])
    cover("back to back, one set", shares_set and not same[0])


async def _play(dut, events: list[Event], offers, takes) -> int:
    """Play the events, check the outputs of every cycle, and return how many cycles it took.

    An event comes in the cycle after one with room, and has its result ``_STAGES`` cycles later.
    """
    reference = TrackerReference(PARAMETERS, UPDATES_PER_ATOM)
    checker = StreamChecker(dut, ("i", "o"))
    seen = Counter()
    completions = []  # those that must be visible
    stages: list[Event | None] = [None] * (_STAGES + 1)  # from the input on
    done = cycle = 0
    while done < len(events) or completions or any(stages):
        taken = takes()
        coming = stages[0]
        dut.i__valid.value = int(coming is not None)
        if coming:
            dut.i__payload.value = _INPUT.pack(vars(coming))
        dut.o__ready.value = int(taken)
        _cover(coming, stages[1:])
        await settled()
        checker.sample()

        updated = stages.pop()
        result = reference.event(updated) if updated else None
        failed = isinstance(result, ErrorCode)
        assert int(dut.error__valid.value) == failed, cycle
        if failed:
            report = _REPORT.unpack(int(dut.error__report.value))
            assert report == [result.value, updated.dispatch_index, updated.wavefront], cycle
            seen[result] += 1
            cover(result.name)
        room = len(completions) + _STAGES + 2 <= _COMPLETIONS
        assert int(dut.room.value) == room, cycle
        assert not int(dut.clearing.value) and not int(dut.corrected.value), cycle
        assert int(dut.o__valid.value) == bool(completions), cycle
        cover("completions full", len(completions) == _COMPLETIONS)
        if completions:
            found = tuple(_COMPLETION.unpack(int(dut.o__payload.value)))
            assert found == completions[0], cycle
            if taken:
                completions.pop(0)
                seen[None] += 1
                cover("completion taken at once", not completions)
        if isinstance(result, tuple):
            completions.append(result)
        accepted = done < len(events) and room and offers()
        stages.insert(0, events[done] if accepted else None)
        done += accepted
        await next_cycle(dut)
        cycle += 1

    for _ in range(2):
        await next_cycle(dut)
    assert bool(dut.empty.value) == (not reference.tiles)
    cocotb.log.info("%d events, %s", len(events), seen)
    return cycle


@cocotb.test()
async def full_rate(dut):
    """Every cycle takes an event, whatever tiles and sets follow each other."""
    events = _traffic(random.Random(cocotb.RANDOM_SEED))
    await _start(dut)
    cycles = await _play(dut, events, lambda: True, lambda: True)
    assert cycles <= len(events) + _STAGES + 2


@cocotb.test()
async def stalls(dut):
    """Both ends hesitate, for a while each, and no event is lost."""
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    events = _traffic(rng)
    hesitation = itertools.cycle([0.1] * 500 + [0.5] * 500 + [0.97] * 500)
    await _start(dut)
    await _play(dut, events, lambda: rng.random() < 0.9, lambda: rng.random() > next(hesitation))


@cocotb.test()
async def completions_wait(dut):
    """Tiles complete in consecutive cycles, nobody takes them: as many as there is room for."""
    events = [
        Event(
            dispatch_index=dispatch_index, wavefront=1, count=UPDATES_PER_ATOM, atom=dispatch_index
        )
        for dispatch_index in range(40)
    ]
    events += [
        Event(end=1, dispatch_index=dispatch_index, wavefront=1, tile_atoms=1)
        for dispatch_index in range(40)
    ]
    busy = iter([False] * 70 + [True, False, False] * 20)
    await _start(dut)
    await _play(dut, events, lambda: True, lambda: next(busy, True))


@cocotb.test()
async def more_updates_than_an_entry_counts(dut):
    most = (1 << PARAMETERS.count_bits) - 1
    counts = [15] * (most // 15) + [most % 15]
    events = [Event(dispatch_index=7, atom=9, count=count) for count in counts if count]
    # One more than fits, then the entry is free; a second tile beside it stays.
    events = [
        Event(dispatch_index=7 + PARAMETERS.sets, atom=5, count=2),
        *events,
        Event(dispatch_index=7, count=1),
    ]
    events += [Event(end=1, dispatch_index=7 + PARAMETERS.sets, tile_atoms=1)]
    events += [
        Event(dispatch_index=7, atom=3, count=4),
        Event(end=1, dispatch_index=7, tile_atoms=2),
    ]
    await _start(dut)
    await _play(dut, events, lambda: True, lambda: True)
