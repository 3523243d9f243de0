"""Bench of a memory with check bits, including words with bit errors."""

import random

import cocotb

from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.inside import inside
from tb.protected_memory.dut import CODES, DEPTH, FREE, WIDTH, WORDS, WRONG, make_memory
from tb.protected_memory.walk import Walk
from tb.stream import Pace

make_dut = make_memory

_INPUTS = inputs_of(make_dut())
_CYCLES = 2500
_IN_VAIN = 20  # steps of the scrubber

expect(
    "right word",
    "corrected a bit of the word",
    "corrected a check bit",
    "lost",
    "read and written in one cycle",
    "read right after it was written",
    "stays while nothing is read",
    "injected: one bit corrected",
    "injected: two bits lost",
    "the scrubber corrects",
    "the scrubber corrects while a word is to be wrong",
    "the scrubber gives way to reads",
    "the scrubber gives way to writes",
)


class _Bench:
    """Memory and its expected contents: word and number of bit errors of each row."""

    def __init__(self, dut):
        self.dut = dut
        rows = zip(WORDS, WRONG, strict=True)
        self.rows = [(0, 0)] * FREE
        self.rows += [(word, wrong.bit_count()) for word, wrong in rows]
        self.walk = Walk(self.rows)
        self._read: tuple[int, int] | None = None  # word and bit errors of the output `o`
        self._written: int | None = None
        self._injected = 0  # inverted bits of the next word

    async def start(self) -> None:
        """Reset the memory, and overwrite the contents from earlier tests with the initial
        contents.
        """
        await reset(self.dut, _INPUTS)
        for row, code in enumerate(CODES):
            inside(self.dut, "words")[row].value = code

    async def cycle(
        self,
        *,
        read: int | None = None,
        write: tuple[int, int] | None = None,
        inject: int | None = None,
        scrub: bool = False,
    ) -> bool:
        """Run one cycle, with a row to read, a row and a word to write, and the number of bit
        errors to inject in the next word (3 for none: only the second bit is requested). Return
        whether the scrubber writes.
        """
        dut = self.dut
        dut.read.value, dut.read_address.value = int(read is not None), read or 0
        dut.write.value, dut.scrub.value = int(write is not None), int(scrub)
        dut.write_address.value, dut.i.value = write or (0, 0)
        dut.inject__set.value = int(inject is not None)
        dut.inject__select.value = int(inject in (1, 2))
        dut.inject__double.value = int(inject in (2, 3))
        await settled()
        if self._read is not None:
            word, wrong = self._read
            assert bool(dut.corrected.value) == (wrong == 1)
            assert bool(dut.lost.value) == (wrong == 2)
            if wrong < 2:
                assert int(dut.o.value) == word
        cover("stays while nothing is read", read is None and self._read is not None)
        cover("read and written in one cycle", write and read == write[0])
        cover("read right after it was written", read is not None and read == self._written)
        assert bool(dut.inject__armed.value) == (self._injected > 0)
        if read is not None:
            self._read = self.rows[read]
            wrong = self._read[1] if read < FREE else 0
            cover("injected: one bit corrected", wrong == 1)
            cover("injected: two bits lost", wrong == 2)
        reads, writes = self.walk.step(read is not None, write is not None, due=scrub)
        if reads:
            self._read = None  # something else is at `o`
        assert bool(dut.scrub_corrected.value) == writes
        cover("the scrubber corrects", writes)
        cover("the scrubber corrects while a word is to be wrong", writes and self._injected)
        if write:
            self.rows[write[0]] = write[1], self._injected
            self._injected = 0
        if inject is not None:
            self._injected = inject % 3
        self._written = write[0] if write else None
        await next_cycle(dut)
        return writes


@cocotb.test()
async def bit_errors(dut):
    """A single-bit error in any bit is corrected; a double-bit error in any two bits is
    reported.
    """
    bench = _Bench(dut)
    await bench.start()
    for row, wrong in enumerate(WRONG):
        await bench.cycle(read=FREE + row)
        cover("right word", not wrong)
        cover("corrected a bit of the word", wrong.bit_count() == 1 and wrong < 1 << WIDTH)
        cover("corrected a check bit", wrong.bit_count() == 1 and wrong >= 1 << WIDTH)
        cover("lost", wrong.bit_count() == 2)
    await bench.cycle()
    await bench.cycle()


@cocotb.test()
async def scrub(dut):
    """The scrubber visits all rows in order, and corrects an error in any bit of a row once."""
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    bench = _Bench(dut)
    await bench.start()
    for row in range(FREE):
        inject = rng.choice([None, 1, 2])
        await bench.cycle(write=(row, rng.getrandbits(WIDTH)), inject=inject)
    for _ in range(_IN_VAIN):
        assert not await bench.cycle(read=1, scrub=True)
    cover("the scrubber gives way to reads")
    for _ in range(_IN_VAIN):
        assert not await bench.cycle(write=(1, 0), scrub=True)
    cover("the scrubber gives way to writes")
    wrong = sum(bits == 1 for _, bits in bench.rows)
    found = 0
    # Two cycles for a row, and a few more for a row that is corrected and read again.
    for _ in range(2 * DEPTH + 4 * wrong):
        found += await bench.cycle(scrub=True)
    assert found == wrong > 0 and bench.walk.rounds == 1
    for row in range(DEPTH):
        await bench.cycle(read=row)
    await bench.cycle()


@cocotb.test()
async def random_words(dut):
    """A read returns the last word written before its cycle; the scrubber never restores an older
    word.
    """
    rng = random.Random(cocotb.RANDOM_SEED)
    bench, row = _Bench(dut), 0
    await bench.start()
    pace = Pace(rng, ("read", "write", "other row", "inject", "scrub"))
    for _ in range(scaled(_CYCLES)):
        acts = pace.acts()
        before = row
        if acts["other row"]:
            near = (bench.walk.row + rng.randrange(-1, 2)) % DEPTH
            row = rng.choice([near, rng.randrange(DEPTH)])
        write = (row, rng.getrandbits(WIDTH)) if acts["write"] else None
        await bench.cycle(
            read=rng.choice([before, row]) if acts["read"] else None,
            write=write,
            inject=rng.randrange(4) if acts["inject"] else None,
            scrub=acts["scrub"],
        )
    for each in range(DEPTH):
        await bench.cycle(read=each)
    await bench.cycle()


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, _INPUTS)
