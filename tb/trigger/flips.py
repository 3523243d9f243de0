"""Tests of bit errors in the trigger unit's memories."""

import random
from collections.abc import Awaitable, Callable

import cocotb

from rtl.interface.configuration import MapConfiguration
from rtl.interface.encodings import Action, ErrorCode, Granularity
from rtl.interface.layouts import Completion, ErrorReport, ReadyCommand
from tb.cover import cover, expect
from tb.cycle import next_cycle, reset, scaled, settled
from tb.inside import in_halves, inside, turn
from tb.payload import Fields
from tb.trigger.tables import DISPATCH_INDICES, PARAMETERS

__all__ = ["corrected_by_the_scrubber", "single_bit_error", "double_bit_error"]

_MAPS = Fields(MapConfiguration(PARAMETERS))
_COMPLETION, _READY = Fields(Completion(PARAMETERS)), Fields(ReadyCommand(PARAMETERS))
_REPORT = Fields(ErrorReport(PARAMETERS))
_PAIRS = 6  # cases for each place
_WALKS = 4  # walks of the scrubber for each place
_SCRUB_CYCLES = 4 * PARAMETERS.credit_window  # for every row
_STILL = 12  # cycles after which a tile is processed, with all commands that it makes ready
_WAITING = 6  # commands in the memory of the queue, and one in front of it
_WORDS = {
    "row": lambda dut, row: inside(dut, "table.words")[row],
    "group": lambda dut, row: inside(dut, "groups.words")[row],
    "ready": lambda dut, row: in_halves(dut, "queue.words.storage", row),
}
"""Access to a row of each memory."""
_Flip = Callable[[str, int], Awaitable[None]]
"""Function that inverts bits in a row of a memory."""

expect(*(f"{memory} {what}" for memory in _WORDS for what in ("corrected", "lost")))
expect("row corrected by the scrubber", "group corrected by the scrubber")


def _edges(dispatch_index: int) -> dict[str, int]:
    return {"outer_edge": dispatch_index & 1, "inner_edge": dispatch_index >> 1 & 1}


def _command(dispatch_index: int, start: int, **others: int) -> dict[str, int]:
    """Make the expected command: of a whole workgroup, unless ``others`` gives other fields."""
    whole = {"dispatch_index": dispatch_index, "start": start, "last": 1}
    return dict.fromkeys(_READY.names, 0) | whole | _edges(dispatch_index) | others


class _Unit:
    """Unit that is empty at first, and its outputs since they were last read."""

    def __init__(self, dut):
        self.dut = dut
        self.ready, self.scrubs = True, False
        self.rng = random.Random(cocotb.RANDOM_SEED + 10)
        self._turn = 0
        self._forget()

    def starts(self, count: int) -> list[int]:
        """Draw the start addresses of ``count`` tiles, in ascending order."""
        return sorted(self.rng.sample(range(1 << PARAMETERS.atom_address_bits), count))

    def position(self) -> int:
        """Return a row of the queue's memory that still holds a command, a different row in each
        call.
        """
        self._turn += 1
        return 4 + self._turn % (2 * _WAITING - 5)

    def _forget(self) -> None:
        self.corrected, self.scrub_corrected, self.complete = 0, 0, 0
        self.errors: list[tuple[int, int]] = []  # code and dispatch index
        self.commands: list[dict[str, int]] = []
        self.said_empty: list[int] = []  # commands that had left by then

    async def start(self, granularity: Granularity, group_log2: int) -> None:
        """Reset the unit, with groups of workgroups that have two tiles each."""
        injects = (f"inject__{memory}__set" for memory in range(3))
        await reset(self.dut, ("completions__valid", "clear", "scrub", *injects))
        entry = {"enable": 1, "first": 0, "last": DISPATCH_INDICES, "action": Action.DMA.value}
        command = {
            "granularity": granularity.value,
            "group_log2": group_log2,
            "waves": [2] * 4,
        }
        self.dut.maps.value = _MAPS.pack({"ranges": [entry], "commands": [command]})
        self.ready = True
        await self.cycles(PARAMETERS.credit_window)
        self._forget()

    async def cycles(self, count: int) -> None:
        """Run cycles without a new tile."""
        dut = self.dut
        for _ in range(count):
            dut.completions__valid.value = 0
            await self._cycle()

    async def tile(self, dispatch_index: int, wavefront: int, start: int) -> None:
        """Send a tile, and wait until it is processed."""
        fields = {"dispatch_index": dispatch_index, "wavefront": wavefront, "start": start}
        self.dut.completions__payload.value = _COMPLETION.pack(fields | _edges(dispatch_index))
        self.dut.completions__valid.value = 1
        await self._cycle()
        await self.cycles(_STILL)

    async def scrub(self) -> None:
        """Let the scrubber walk over all rows."""
        self.scrubs = True
        await self.cycles(_SCRUB_CYCLES)
        self.scrubs = False

    async def _cycle(self) -> None:
        dut = self.dut
        dut.ready__ready.value, dut.scrub.value = int(self.ready), int(self.scrubs)
        await settled()
        self.corrected += int(dut.corrected.value)
        self.scrub_corrected += int(dut.scrub_corrected.value)
        self.complete += int(dut.complete.value)
        if int(dut.error__valid.value):
            error = _REPORT.named(int(dut.error__report.value))
            self.errors.append((error["code"], error["dispatch_index"]))
        if int(dut.empty.value):
            self.said_empty.append(len(self.commands))
        if self.ready and int(dut.ready__valid.value):
            self.commands.append(_READY.named(int(dut.ready__payload.value)))
        await next_cycle(dut)


def _corrupt(dispatch_index: int) -> tuple[int, int]:
    return ErrorCode.TRIGGER_CORRUPT.value, dispatch_index


async def _row(unit: _Unit, flip: _Flip) -> int:
    """Flip bits in the row of a workgroup with one of two tiles: if the row is lost, the workgroup
    never completes.
    """
    await unit.start(Granularity.WORKGROUP, 0)
    low, high = unit.starts(2)
    await unit.tile(5, 3, low)
    await flip("row", 5)
    await unit.tile(5, 1, high)
    if not unit.errors:
        assert (unit.commands, unit.complete) == ([_command(5, low)], 1)
    else:
        assert (unit.commands, unit.complete) == ([], 0)
    return 5


async def _released(unit: _Unit, flip: _Flip) -> int:
    """Flip bits in the row of a complete workgroup whose group is incomplete: if the row is lost,
    only this workgroup is not sent.
    """
    await unit.start(Granularity.WORKGROUP, 1)
    first, second, third, fourth = unit.starts(4)
    for wavefront, start in enumerate((fourth, third)):
        await unit.tile(6, wavefront, start)
    await flip("row", 6)
    for wavefront, start in enumerate((first, second)):
        await unit.tile(7, wavefront, start)
    assert unit.complete == 2
    both = [_command(6, third), _command(7, first)]
    assert unit.commands == (both[1:] if unit.errors else both)
    return 6


async def _group(unit: _Unit, flip: _Flip) -> int:
    """Flip bits in the count of a group that waits for its last workgroup: if the count is lost,
    the group is never released.
    """
    await unit.start(Granularity.WORKGROUP, 1)
    low, high = unit.starts(2)
    for wavefront in range(2):
        await unit.tile(6, wavefront, high)
    await flip("group", 6)
    for wavefront in range(2):
        await unit.tile(7, wavefront, low)
    assert unit.complete == 2
    assert unit.commands == ([] if unit.errors else [_command(6, high), _command(7, low)])
    return 7


async def _ready(unit: _Unit, flip: _Flip) -> int:
    """Flip bits in a command that waits among others: if it is lost, only this command does not
    leave, and the unit is not empty before the last command has left.
    """
    await unit.start(Granularity.WAVEFRONT, 0)
    at = unit.position()
    unit.ready = False
    expected = [
        _command(dispatch_index, start, wavefront=dispatch_index % 3, last=0)
        for dispatch_index, start in enumerate(unit.starts(2 * _WAITING))
    ]
    for command in expected:
        await unit.tile(command["dispatch_index"], command["wavefront"], command["start"])
    await flip("ready", at)
    unit.ready = True
    unit.said_empty.clear()
    await unit.cycles(8 * _WAITING)
    lost = expected[at]
    if unit.errors:
        expected.remove(lost)
    assert unit.commands == expected
    assert set(unit.said_empty) == {len(expected)}
    return lost["dispatch_index"]


_CASES = {"row": (_row, _released), "group": (_group,), "ready": (_ready,)}


def _turns(unit: _Unit, *bits: int, scrub: bool = False) -> _Flip:
    """Make a function that inverts these bits, after which the scrubber may walk."""

    async def flip(memory: str, row: int) -> None:
        turn(_WORDS[memory](unit.dut, row), *bits)
        if scrub:
            await unit.scrub()

    return flip


@cocotb.test()
async def single_bit_error(dut):
    """An error in any bit of a word of any memory is corrected once, and has no other effect."""
    unit = _Unit(dut)
    for name, cases in _CASES.items():
        for case in cases:
            for bit in range(len(_WORDS[name](dut, 0))):
                await case(unit, _turns(unit, bit))
                assert (unit.corrected, unit.errors) == (1, []), f"{case.__name__}, bit {bit}"
                cover(f"{name} corrected")


@cocotb.test()
async def corrected_by_the_scrubber(dut):
    """The scrubber writes the correct word back, and leaves no error."""
    unit = _Unit(dut)
    for name in ("row", "group"):
        width = len(_WORDS[name](dut, 0))
        for case in _CASES[name] * scaled(_WALKS):
            bit = unit.rng.randrange(width)
            await case(unit, _turns(unit, bit, scrub=True))
            found = unit.scrub_corrected, unit.corrected, unit.errors
            assert found == (1, 0, []), f"{case.__name__}, bit {bit}"
            cover(f"{name} corrected by the scrubber")


@cocotb.test()
async def double_bit_error(dut):
    """The affected tile is reported and skipped."""
    unit = _Unit(dut)
    for name, cases in _CASES.items():
        width = len(_WORDS[name](dut, 0))
        for case in cases * scaled(_PAIRS):
            bits = unit.rng.sample(range(width), 2)
            # The tile of a lost command is reported as read, so its fields have no bit errors here.
            if case is _ready:
                bits = unit.rng.sample(range(_READY.width, width), 2)
            dispatch_index = await case(unit, _turns(unit, *bits))
            found = unit.errors, unit.corrected
            assert found[0] == [_corrupt(dispatch_index)], case.__name__
            assert found[1] == 0
            cover(f"{name} lost")
