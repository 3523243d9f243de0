"""A bank at one event per cycle against the reference: full rate, then with stalls at both ends."""

import itertools
import random
from collections import Counter

import cocotb
from amaranth.hdl import Value
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from rtl.encodings import ErrorCode
from rtl.layouts import Completion, ErrorReport, TrackerInput
from rtl.parameters import T3Parameters
from tb.tracker.reference import Event, TrackerReference

PARAMETERS = T3Parameters()
UPDATES_PER_SECTOR = 2
_INPUT = TrackerInput(PARAMETERS)
_COMPLETION = Completion(PARAMETERS)
_REPORT = ErrorReport(PARAMETERS)
_ERRORS = (
    ErrorCode.SET_FULL,
    ErrorCode.ZERO_THRESHOLD,
    ErrorCode.SECOND_TILE_END,
    ErrorCode.OVERRUN,
)
_TILES = 1200
_LIVE = 400  # at a time, in 64 sets, some of which overflow


def _bits(layout, fields: dict) -> int:
    return Value.cast(layout.const(fields)).value


def _fields(layout, bits: int) -> tuple[int, ...]:
    return tuple(bits >> field.offset & (1 << field.width) - 1 for _, field in layout)


def _traffic(rng: random.Random) -> list[Event]:
    """Events of many tiles at a time, each tile's in any order, some tiles with an error."""
    p = PARAMETERS
    events, live = [], []
    for number in range(_TILES):
        place, wavefront = divmod(number, p.wavefronts)
        place = place * 148 % (1 << p.place_bits)
        sectors = rng.randrange(8)
        end = Event(
            end=1,
            place=place,
            wavefront=wavefront,
            sectors=sectors,
            row_edge=rng.randrange(2),
            run_edge=rng.randrange(2),
        )
        updates = sectors * UPDATES_PER_SECTOR + (rng.random() < 0.05)
        tile = [end] * (1 + (rng.random() < 0.02))
        while updates:
            count = rng.randint(1, updates)
            updates -= count
            atom = rng.randrange(1 << p.atom_address_bits)
            tile.append(Event(place=place, wavefront=wavefront, atom=atom, count=count))
        rng.shuffle(tile)
        live.append(tile)
        while len(live) > (_LIVE if number < _TILES - 1 else 0):
            index = rng.randrange(len(live))
            for _ in range(min(rng.randint(1, 4), len(live[index]))):
                events.append(live[index].pop())
            if not live[index]:
                live[index] = live[-1]
                live.pop()
    return events


async def _start(dut) -> None:
    dut.rst.value = 1
    dut.clear.value = 0
    dut.updates_per_sector.value = UPDATES_PER_SECTOR
    dut.i__valid.value = 0
    dut.i__payload.value = 0
    dut.o__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    cycles = 0
    while int(dut.clearing.value):
        assert not int(dut.room.value)
        await FallingEdge(dut.clk)
        cycles += 1
    assert cycles == PARAMETERS.sets // PARAMETERS.banks


async def _play(dut, events: list[Event], offers, takes) -> int:
    """Play the events, check the outputs of every cycle, and return how many cycles it took.

    No output depends on an input of its cycle, so both are exchanged at the falling edge. An event
    comes in the cycle after one with room, and has its result two cycles later.
    """
    reference = TrackerReference(PARAMETERS, UPDATES_PER_SECTOR)
    seen = Counter()
    completions = []  # those that must be visible
    coming = compared = updated = None
    done = cycle = 0
    while done < len(events) or completions or coming or compared or updated:
        taken = takes()
        dut.i__valid.value = int(coming is not None)
        if coming:
            dut.i__payload.value = _bits(_INPUT, vars(coming))
        dut.o__ready.value = int(taken)

        result = reference.event(updated) if updated else None
        failed = isinstance(result, ErrorCode)
        assert int(dut.error__valid.value) == failed, cycle
        if failed:
            report = _fields(_REPORT, int(dut.error__report.value))
            assert report == (result.value, updated.place, updated.wavefront), cycle
            seen[result] += 1
        room = len(completions) <= 4
        assert int(dut.room.value) == room, cycle
        assert int(dut.o__valid.value) == bool(completions), cycle
        if completions:
            assert _fields(_COMPLETION, int(dut.o__payload.value)) == completions[0], cycle
            if taken:
                completions.pop(0)
                seen[None] += 1
        if isinstance(result, tuple):
            completions.append(result)
        coming, compared, updated = None, coming, compared
        if done < len(events) and room and offers():
            coming = events[done]
            done += 1
        await FallingEdge(dut.clk)
        cycle += 1

    cocotb.log.info("%d events, %s", len(events), seen)
    assert seen[None] > _TILES // 2
    for code in _ERRORS:
        assert seen[code], code
    return cycle


@cocotb.test()
async def full_rate(dut):
    """Every cycle takes an event, whatever tiles and sets follow each other."""
    events = _traffic(random.Random(cocotb.RANDOM_SEED))
    await _start(dut)
    cycles = await _play(dut, events, lambda: True, lambda: True)
    assert cycles <= len(events) + 4


@cocotb.test()
async def stalls(dut):
    """Both ends hesitate, for a while each, and no event is lost."""
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    events = _traffic(rng)
    hesitation = itertools.cycle([0.1] * 500 + [0.5] * 500 + [0.97] * 500)
    await _start(dut)
    await _play(dut, events, lambda: rng.random() < 0.9, lambda: rng.random() > next(hesitation))
