# amaranth: UnusedElaboratable=no
"""Few tiles of few sets without rhyme or reason, in every cycle against the golden model.

Harsher than :mod:`tb.tracker_bank_rate`, whose tiles are those of kernels: the table is cleared
under what is on its way, the threshold changes, and most events are errors.
"""

import random
from collections import deque

import cocotb

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import Completion, ErrorReport, TrackerInput
from rtl.tracker.bank import TrackerBank
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.golden import error_report
from tb.payload import Fields
from tb.stream import Pace, StreamChecker
from tb.tracker_bank.events import end, update
from tb.tracker_bank.flips import PARAMETERS, one_wrong_bit, two_wrong_bits, wrong_bits_under_way
from tb.tracker_bank.model import Model

__all__ = ["make_dut", "one_wrong_bit", "two_wrong_bits", "wrong_bits_under_way"]

_INPUT = Fields(TrackerInput(PARAMETERS))
_COMPLETION, _REPORT = Fields(Completion(PARAMETERS)), Fields(ErrorReport(PARAMETERS))
_ERRORS = (
    ErrorCode.SET_FULL,
    ErrorCode.ZERO_THRESHOLD,
    ErrorCode.SECOND_END_OF_TILE,
    ErrorCode.OVERRUN,
    ErrorCode.COUNT_OVERFLOW,
)
_CYCLES = 6000

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
    "no room",
    "completions in consecutive cycles",
    "clear while busy",
    "clear while clearing",
    "clear as an entry is counted",
    "clear as an event comes",
    "clear with completions waiting",
    "threshold changes under an event",
    "threshold without updates",
)


def make_dut(block: type = TrackerBank):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


class _Bench:
    """The bank and its model."""

    def __init__(self, dut):
        self.dut, self.model = dut, Model(PARAMETERS)
        self.checker = StreamChecker(dut, ("i", "o"))
        self.completions: list[list[int]] = []  # those that left
        self.errors: list[list[int]] = []
        self.put = 0  # events that were accepted
        self._coming: dict[str, int] | None = None  # chosen in the cycle before
        self._ahead: deque = deque([None, None], maxlen=2)  # the latest last
        self._completed = False

    def configure(self, updates_per_atom: int) -> None:
        self.dut.updates_per_atom.value = updates_per_atom
        self.model.state.config["launch"]["updates_per_atom"] = updates_per_atom
        cover("threshold without updates", updates_per_atom == 0)

    async def cycle(
        self, event: dict[str, int] | None, *, take: bool = True, clear: bool = False
    ) -> bool:
        """One cycle, in which the front would choose the event; gives whether there is room."""
        dut, model = self.dut, self.model
        dut.i__valid.value = int(self._coming is not None)
        if self._coming:
            dut.i__payload.value = _INPUT.pack(self._coming)
        dut.o__ready.value, dut.clear.value = int(take), int(clear)
        await settled()
        self.checker.sample()
        room = model.room
        assert bool(dut.room.value) == room
        assert bool(dut.clearing.value) == model.clearing
        assert bool(dut.empty.value) == model.empty
        assert not int(dut.corrected.value)
        completion = model.completion()
        assert bool(dut.o__valid.value) == (completion is not None)
        if completion is not None:
            assert _COMPLETION.unpack(int(dut.o__payload.value)) == completion
            if take:
                self.completions.append(completion)
        self._cover(completion, clear)
        chosen = event if room else None
        error = model.step(chosen, taken=take, clear=clear)
        assert bool(dut.error__valid.value) == (error != 0)
        if error:
            report = _REPORT.unpack(int(dut.error__report.value))
            assert report == error_report(error)
            self.errors.append(report)
            cover(ErrorCode(report[0]).name)
        self.put += chosen is not None
        # What is chosen in the cycle of the strobe is lost with what is on its way.
        self._ahead.append(self._coming)
        self._coming = None if clear else chosen
        await next_cycle(dut)
        return room

    def _cover(self, completion: list[int] | None, clear: bool) -> None:
        model, coming = self.model, self._coming
        cover("completions full", model.full)
        cover("no room", not model.room and not model.clearing)
        cover("every entry in use", model.tiles() == PARAMETERS.sets * PARAMETERS.ways)
        if clear:
            cover("clear while busy", model.under_way)
            cover("clear while clearing", model.clearing)
            cover("clear as an entry is counted", model.counts)
            cover("clear as an event comes", coming)
            cover("clear with completions waiting", completion is not None)
        if coming is None:
            return
        before, last = self._ahead
        cover("back-to-back hits to one entry", last and _tile(last) == _tile(coming))
        for event, name in (
            (last, "set conflict: two tags in consecutive cycles"),
            (before, "set conflict: two tags, one cycle between"),
        ):
            cover(name, event and _set(event) == _set(coming) and _tile(event) != _tile(coming))
        cover("consecutive sets", last and _set(last) != _set(coming))
        cover("tile of one atom", coming["end"] and coming["tile_atoms"] == 1)
        cover("edge tile", coming["end"] and (coming["outer_edge"] or coming["inner_edge"]))
        cover("end-of-tile marker alone", coming["end"] and not model.tiles())


def _tile(event: dict[str, int]) -> tuple[int, int]:
    return event["dispatch_index"], event["wavefront"]


def _set(event: dict[str, int]) -> int:
    return event["dispatch_index"] % PARAMETERS.sets


async def _start(dut) -> _Bench:
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    bench.configure(2)
    for _ in range(PARAMETERS.sets):
        assert bench.model.clearing
        await bench.cycle(None)
    assert not bench.model.clearing
    return bench


@cocotb.test()
async def random_traffic(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = await _start(dut)
    pace = Pace(rng, ("put", "take"), rates=(0.05, 0.3, 0.6, 1, 1, 1), cycles=50)
    for cycle in range(scaled(_CYCLES)):
        if cycle % 100 == 0:
            # One tile, the tiles of one set, or more than the table holds; of few dispatch indices.
            first = rng.choice([0, 1, 37, rng.getrandbits(PARAMETERS.dispatch_index_bits)])
            step, count = rng.choice([(1, 1), (PARAMETERS.sets, 3), (1, 3), (1, 5)])
            waves, ends = rng.choice([1, 2, PARAMETERS.wavefronts]), rng.choice([0.05, 0.3, 0.4])
        if rng.random() < 0.02:
            cover("threshold changes under an event", bench.model.under_way)
            bench.configure(rng.choice([0, 1, 1, 2, 2, 3]))
        dispatch_index = (first + step * rng.randrange(count)) % (
            1 << PARAMETERS.dispatch_index_bits
        )
        tile = dispatch_index, rng.randrange(waves)
        if rng.random() < ends:
            edges = rng.getrandbits(1), rng.getrandbits(1)
            event = end(*tile, rng.choice([0, 1, 1, 1, 2, 2, 15]), *edges)
        else:
            count_ = rng.choice([1, 1, 2, 2, rng.randint(1, 15)])
            event = update(*tile, rng.getrandbits(PARAMETERS.atom_address_bits), count_)
        acts = pace.acts()
        clear = rng.random() < (0.15 if bench.model.clearing else 0.004)
        taken = len(bench.completions)
        await bench.cycle(event if acts["put"] else None, take=acts["take"], clear=clear)
        moved = len(bench.completions) > taken
        cover("completions in consecutive cycles", moved and bench._completed)
        bench._completed = moved


async def _play(bench: _Bench, events: list[dict[str, int]]) -> None:
    """Events in consecutive cycles, then until all is still."""
    for event in events:
        for _ in range(40):
            if await bench.cycle(event):
                break
        else:
            raise AssertionError("There is no room")
    for _ in range(20):
        await bench.cycle(None)


@cocotb.test()
async def one_result_for_each_tile(dut):
    """Updates and end of each tile in consecutive cycles, the end first, last or between."""
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    bench = await _start(dut)
    expected, events = [], []
    for number in range(40):
        tile = (
            rng.randrange(1 << PARAMETERS.dispatch_index_bits),
            rng.randrange(PARAMETERS.wavefronts),
        )
        tile_atoms = 1 if number < 8 else rng.randint(1, 7)
        atoms = [rng.getrandbits(PARAMETERS.atom_address_bits) for _ in range(tile_atoms)]
        edges = rng.getrandbits(1), rng.getrandbits(1)
        mine = [update(*tile, atom, 2) for atom in atoms] + [end(*tile, tile_atoms, *edges)]
        rng.shuffle(mine)
        events += mine
        expected.append([*tile, min(atoms), *edges])
    await _play(bench, events)
    assert bench.completions == expected and not bench.errors and not bench.model.tiles()


@cocotb.test()
async def a_clear_loses_all_tiles(dut):
    """Whatever is in the table or on its way is forgotten, wherever the strobe falls."""
    for after in range(10):
        bench = await _start(dut)
        tiles = [(dispatch_index, 1) for dispatch_index in range(PARAMETERS.sets)]
        events = [update(*tile, 7, 1) for tile in tiles]
        for cycle in range(10):
            event = events[cycle] if cycle < len(events) else None
            await bench.cycle(event, clear=cycle == after)
        for _ in range(PARAMETERS.sets + 2):
            await bench.cycle(None)
        await _play(bench, [end(*tile) for tile in tiles])
        assert not bench.completions and not bench.errors
        await _play(bench, [update(*tile, 9, 2) for tile in tiles])
        assert bench.completions == [[*tile, 9, 0, 0] for tile in tiles]


@cocotb.test()
async def completions_wait(dut):
    """All tiles of the table complete at once: each has room, and survives a clear."""
    bench = await _start(dut)
    tiles = [
        (dispatch_index, wave)
        for wave in range(PARAMETERS.ways)
        for dispatch_index in range(PARAMETERS.sets)
    ]
    await _play(bench, [update(*tile, index, 2) for index, tile in enumerate(tiles)])
    events = [end(*tile) for tile in tiles]
    while events:
        assert await bench.cycle(events.pop(0), take=False)
    for cycle in range(20):
        await bench.cycle(None, take=False, clear=cycle == 10)
    assert not bench.completions and bench.model.full
    await _play(bench, [])
    assert bench.completions == [[*tile, index, 0, 0] for index, tile in enumerate(tiles)]
