"""Tests of bit errors in a tracker bank's memory."""

import itertools
import random

import cocotb

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import Completion, ErrorReport, TrackerInput
from rtl.parameters import T3Parameters
from tb.cover import cover, expect
from tb.cycle import next_cycle, reset, scaled, settled
from tb.inside import inside, turn
from tb.payload import Fields

__all__ = [
    "PARAMETERS",
    "single_bit_error",
    "the_scrubber_finds_it",
    "double_bit_error",
    "bit_errors_in_flight",
]

PARAMETERS = T3Parameters(
    address_bits=20,
    workgroup_bits=6,
    wavefronts=4,
    tile_atom_bits=4,
    share_bits=2,
    sets=4,
    ways=2,
    contexts=2,
)
_INPUT, _COMPLETION = Fields(TrackerInput(PARAMETERS)), Fields(Completion(PARAMETERS))
_REPORT = Fields(ErrorReport(PARAMETERS))
_STILL = 7  # cycles after which an event has changed the memory
_IN_FLIGHT = 2  # events behind an event that read the entry before the event's write
_SET = 1
_PAIRS = 40
_ATOM_BITS = PARAMETERS.atom_address_bits
# Two tiles of the set, of different contexts.
_TILES = (
    {"owner": 0, "dispatch_index": 1, "wavefront": 0},
    {"owner": 1, "dispatch_index": 37, "wavefront": 2},
)

expect("corrected", "corrected once for two events", "corrupt", "corrupt twice")


class _Bank:
    """Bank that accepts every event, and its outputs since they were last read."""

    def __init__(self, dut):
        self.dut = dut
        self.corrected = 0
        self.errors: list[list[int]] = []
        self.completions: list[tuple[int, ...]] = []

    async def start(self) -> None:
        """Reset the bank, so that it is empty."""
        inputs = ("i__valid", "i__payload", "clear", "aborting", "inject__set", "scrub")
        await reset(self.dut, inputs)
        for context in range(PARAMETERS.contexts):
            getattr(self.dut, f"ways__{context}").value = (1 << PARAMETERS.ways) - 1
        self.dut.o__ready.value = 1
        await self.events(*[None] * (PARAMETERS.sets + 2))

    async def events(self, *events: dict[str, int] | None) -> None:
        """Send events in consecutive cycles, then wait until they are done."""
        dut = self.dut
        for event in (*events, *[None] * _STILL):
            dut.i__valid.value = int(event is not None)
            if event:
                values = dict.fromkeys(_INPUT.names, 0) | event
                dut.i__payload.value = _INPUT.pack(values)
            await settled()
            if int(dut.error__valid.value):
                self.errors.append(_REPORT.unpack(int(dut.error__report.value)))
            self.corrected += int(dut.corrected.value)
            if int(dut.o__valid.value):
                completion = _COMPLETION.named(int(dut.o__payload.value))
                names = ("owner", "dispatch_index", "wavefront", "start")
                self.completions.append(tuple(completion[name] for name in names))
            await next_cycle(dut)

    def said(self) -> tuple[int, list[list[int]], list[tuple[int, ...]]]:
        """Return corrections, errors and completions since the last call."""
        said = self.corrected, self.errors, self.completions
        self.corrected, self.errors, self.completions = 0, [], []
        return said

    def entry(self, way: int):
        """Return the word of an entry of the set in the memory."""
        return inside(self.dut, f"table.entries_{way}")[_SET]

    async def fill(self, *atoms: int) -> list[int]:
        """Send one update of both tiles to an empty bank; return their ways."""
        await self.start()
        of_first, of_second = atoms or (900, 800)
        await self.events(_update(0, of_first))
        (first,) = (way for way in range(PARAMETERS.ways) if int(self.entry(way).value))
        await self.events(_update(1, of_second))
        return [first, 1 - first]

    async def scrub(self) -> None:
        """Scrub every set once."""
        for _ in range(PARAMETERS.sets):
            self.dut.scrub.value = 1
            await next_cycle(self.dut)
            self.dut.scrub.value = 0
            await self.events(None)


def _update(tile: int, atom: int) -> dict[str, int]:
    return {**_TILES[tile], "atom": atom, "count": 1}


def _end(tile: int, tile_atoms: int) -> dict[str, int]:
    return {**_TILES[tile], "end": 1, "tile_atoms": tile_atoms, "shares": 1, "total": 1}


def _complete(tile: int, start: int) -> tuple[int, ...]:
    return (*_TILES[tile].values(), start)


def _corrupt(tile: int) -> list[int]:
    report = _TILES[tile] | {"code": ErrorCode.TRACKER_CORRUPT.value}
    return [report.get(name, 0) for name in _REPORT.names]


@cocotb.test()
async def single_bit_error(dut):
    """An error in any bit of an entry is corrected until the entry is written, and has no other
    effect.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 5)
    bank = _Bank(dut)
    width = len(bank.entry(0))
    for bit, wrong in itertools.product(range(width), (0, 1)):
        # Any two atoms; the first, which is in the memory, may be the lower one.
        first, second = ([rng.getrandbits(_ATOM_BITS) for _ in range(2)] for _ in range(2))
        ways = await bank.fill(first[0], second[0])
        turn(bank.entry(ways[wrong]), bit)
        await bank.events(_update(0, first[1]))
        assert bank.said() == (1, [], [])
        await bank.events(_update(1, second[1]))
        # The tile's own event has written the entry anew.
        assert bank.said() == (wrong, [], [])
        await bank.events(_end(0, 2), None, None, None, None, None, None, _end(1, 2))
        assert bank.said() == (0, [], [_complete(0, min(first)), _complete(1, min(second))])
        assert int(dut.empty.value) == 0b11
        cover("corrected")


@cocotb.test()
async def the_scrubber_finds_it(dut):
    """The scrubber corrects an error in any bit of an entry before an event does, and restores the
    entry.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 6)
    bank = _Bank(dut)
    for bit, wrong in itertools.product(range(len(bank.entry(0))), (0, 1)):
        ways = await bank.fill(*(rng.getrandbits(_ATOM_BITS) for _ in range(2)))
        entries = [bank.entry(way) for way in range(PARAMETERS.ways)]
        before = [int(entry.value) for entry in entries]
        turn(bank.entry(ways[wrong]), bit)
        await bank.scrub()
        assert [int(entry.value) for entry in entries] == before, f"bit {bit}"
        assert not bank.said()[1]


@cocotb.test()
async def double_bit_error(dut):
    """A double-bit error is reported with the tile of the event that found it; the tile of the lost
    entry never completes, and the bank never becomes empty.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    bank = _Bank(dut)
    width = len(bank.entry(0))
    for _ in range(scaled(_PAIRS)):
        ways = await bank.fill()
        turn(bank.entry(ways[0]), *rng.sample(range(width), 2))
        await bank.events(_update(1, 600))
        await bank.events(_update(0, 700))
        assert bank.said() == (0, [_corrupt(1), _corrupt(0)], [])
        await bank.events(_end(1, 2))
        await bank.events(_end(0, 2))
        assert bank.said() == (0, [], [_complete(1, 600)])
        # The rest of the lost tile: its second update, which now counts as its first.
        await bank.events(_update(0, 500))
        assert bank.said() == (0, [], [_complete(0, 500)])
        # The bank still holds context 0: the lost tile never ended.
        assert int(dut.empty.value) == 0b10
        cover("corrupt twice")


@cocotb.test()
async def bit_errors_in_flight(dut):
    """Each event that reads the faulty entry before it is rewritten reports it, however closely the
    events follow each other, and none counts it twice.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    bank = _Bank(dut)
    width = len(bank.entry(0))
    for count, gap, wrong in itertools.product((1, 2), range(5), (0, 1)):
        ways = await bank.fill()
        turn(bank.entry(ways[wrong]), *rng.sample(range(width), count))
        await bank.events(_update(0, 700), *[None] * gap, _update(0, 650))
        corrected, errors, completions = bank.said()
        # The other tile's entry is not written at all.
        times = 2 if wrong or gap < _IN_FLIGHT else 1
        assert (corrected, errors) == ((times, []) if count == 1 else (0, [_corrupt(0)] * times))
        cover("corrected once for two events", count == times == 1)
        cover("corrupt", count == 2)
        lost = count == 2 and not wrong
        await bank.events(_end(0, 2 if lost else 3))
        assert not completions and bank.said()[2] == [_complete(0, 650)]
