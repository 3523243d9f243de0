# amaranth: UnusedElaboratable=no
"""Words through a memory with check bits, and words of which bits are wrong."""

import random

import cocotb

from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.protected_memory.dut import DEPTH, FREE, WIDTH, WORDS, WRONG, faulty_memory
from tb.stream import Pace

make_dut = faulty_memory

_INPUTS = inputs_of(make_dut())
_CYCLES = 1500

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
    "the patrol corrects",
    "the patrol gives way to reads",
    "the patrol gives way to writes",
)


class _Bench:
    """The memory, and what is in it; None for a word that is lost."""

    def __init__(self, dut):
        self.dut = dut
        rows = zip(WORDS, WRONG, strict=True)
        self._rows = [(0, 0)] * FREE
        self._rows += [(word, wrong.bit_count()) for word, wrong in rows]
        self._read: tuple[int, int] | None = None  # word and wrong bits of what stands at `o`
        self._written: int | None = None
        self._injected = 0  # bits of the next word that are wrong

    async def cycle(
        self,
        *,
        read: int | None = None,
        write: tuple[int, int] | None = None,
        inject: int | None = None,
        patrol: bool = False,
    ) -> bool:
        """One cycle, with a row to read, a row and a word to write, and the number of bits that
        shall be wrong in the next word; 3 for none, as only its second one is asked for. Gives
        whether the patrol writes."""
        dut = self.dut
        dut.read.value, dut.read_address.value = int(read is not None), read or 0
        dut.write.value, dut.patrol.value = int(write is not None), int(patrol)
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
            self._read = self._rows[read]
            wrong = self._read[1] if read < FREE else 0
            cover("injected: one bit corrected", wrong == 1)
            cover("injected: two bits lost", wrong == 2)
        elif patrol:
            self._read = None  # the patrol may read something else
        if write:
            self._rows[write[0]] = write[1], self._injected
            self._injected = 0
        if inject is not None:
            self._injected = inject % 3
        self._written = write[0] if write else None
        patrolled = bool(dut.patrolled.value)
        await next_cycle(dut)
        return patrolled

    def patrol(self, rows: int) -> int:
        """What was written in so many rows with one wrong bit shall be right from now on; how many
        words."""
        found = sum(wrong == 1 for _, wrong in self._rows[:rows])
        self._rows[:rows] = [
            (word, 0 if wrong == 1 else wrong) for word, wrong in self._rows[:rows]
        ]
        return found

    async def expect_patrol(self, rows: int) -> None:
        """Two cycles for a row, and a few more for one that is corrected and looked at again."""
        wrong = self.patrol(rows)
        found = cycles = 0
        while found < wrong and cycles < 2 * rows + 4 * wrong:
            found += await self.cycle(patrol=True)
            cycles += 1
        assert found == wrong > 0


@cocotb.test()
async def wrong_bits(dut):
    """One is corrected wherever it is, two are reported whichever they are."""
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    for row, wrong in enumerate(WRONG):
        await bench.cycle(read=FREE + row)
        cover("right word", not wrong)
        cover("corrected a bit of the word", wrong.bit_count() == 1 and wrong < 1 << WIDTH)
        cover("corrected a check bit", wrong.bit_count() == 1 and wrong >= 1 << WIDTH)
        cover("lost", wrong.bit_count() == 2)
    await bench.cycle()
    await bench.cycle()


@cocotb.test()
async def random_words(dut):
    """What was written last is read; a read does not see the write in its cycle."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench, row = _Bench(dut), 0
    for each in range(FREE):
        await bench.cycle(write=(each, rng.getrandbits(WIDTH)))
    pace = Pace(rng, ("read", "write", "other row", "inject"))
    for _ in range(scaled(_CYCLES)):
        acts = pace.acts()
        before = row
        if acts["other row"]:
            row = rng.randrange(FREE)
        write = (row, rng.getrandbits(WIDTH)) if acts["write"] else None
        await bench.cycle(
            read=rng.choice([before, row]) if acts["read"] else None,
            write=write,
            inject=rng.randrange(4) if acts["inject"] else None,
        )


@cocotb.test()
async def patrol(dut):
    """It corrects every word of which one bit is wrong, once, where the traffic leaves it time."""
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    for row in range(FREE):
        await bench.cycle(inject=int(row % 3 == 0))
        await bench.cycle(write=(row, row % (1 << WIDTH)))
    reads = [await bench.cycle(read=1, patrol=True) for _ in range(DEPTH)]
    assert not any(reads)
    cover("the patrol gives way to reads")
    writes = [await bench.cycle(write=(1, 0), patrol=True) for _ in range(DEPTH)]
    assert not any(writes)
    cover("the patrol gives way to writes")
    # It ends before the rows that are wrong from the beginning, which other tests read.
    await bench.expect_patrol(FREE)
    cover("the patrol corrects")
    for row in range(DEPTH):
        await bench.cycle(read=row)
    await bench.cycle()


@cocotb.test()
async def every_free_row(dut):
    """Each keeps its own word, and the patrol comes to each."""
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    for row in range(FREE):
        await bench.cycle(inject=int(rng.random() < 0.5))
        await bench.cycle(write=(row, rng.getrandbits(WIDTH)))
    await bench.expect_patrol(FREE)
    for row in range(FREE):
        await bench.cycle(read=row)
    await bench.cycle()
