"""The walk that corrects a memory, in cycles without traffic."""

import random

import pytest
from amaranth.hdl import Const, Module
from amaranth.lib import data
from amaranth.sim import Simulator

from rtl.lib.protected_memory import ProtectedMemory
from rtl.lib.secded import encode
from rtl.tracker.table import TrackerTable
from tests.support.simulation import run_gated
from verification.seeded_bugs.bug import SeededBug

WIDTH, DEPTH = 8, 4


def check_bits_of_all_words():
    found = []

    async def run(ctx):
        found.extend(ctx.get(encode(Const(word, WIDTH))) for word in range(1 << WIDTH))

    simulator = Simulator(Module())
    simulator.add_testbench(run)
    simulator.run()
    return found


CHECKS = check_bits_of_all_words()
ENTRY = data.StructLayout({"valid": 1, "content": 7})


def turn(ctx, word, mask):
    ctx.set(word, word.shape().from_bits(ctx.get(word).as_bits() ^ mask))


async def steps(ctx, dut, count, *, apart=5):
    """Run some steps of the scrubber; return the numbers of the steps that corrected a word."""
    found = []
    for number in range(count):
        ctx.set(dut.scrub, 1)
        for _ in range(apart):
            found += [number] * ctx.get(dut.scrub_corrected)
            await ctx.tick()
            ctx.set(dut.scrub, 0)
    return found


class Walk:
    """Expected walk without traffic: a row for each step, and a row with an error once more."""

    def __init__(self, rows):
        self._rows, self._row = rows, 0

    def __call__(self, count, wrong=()):
        """Return the numbers of the steps that correct a word; ``wrong`` has the row of each."""
        left, found = [*wrong], []
        for number in range(count):
            if self._row in left:
                left.remove(self._row)
                found.append(number)
            else:
                self._row = (self._row + 1) % self._rows
        return found


@pytest.mark.parametrize("bit", [0, WIDTH - 1, WIDTH, WIDTH + 4])
def test_a_bit_error_in_any_row_is_corrected_and_two_stay(bit):
    check_correction(ProtectedMemory(WIDTH, depth=DEPTH), bit)


def check_correction(memory, bit):
    walk = Walk(DEPTH)

    async def bench(ctx):
        words = memory.words.data
        for row in range(DEPTH):
            ctx.set(memory.write, 1)
            ctx.set(memory.write_address, row)
            ctx.set(memory.i, 0x51 + row)
            await ctx.tick()
        ctx.set(memory.write, 0)
        right = [ctx.get(words[row]).as_bits() for row in range(DEPTH)]
        for row in range(DEPTH):
            turn(ctx, words[row], 1 << bit)
            found = await steps(ctx, memory, DEPTH + 1)
            assert found == walk(DEPTH + 1, [row]) and len(found) == 1
            assert [ctx.get(words[row]).as_bits() for row in range(DEPTH)] == right
        turn(ctx, words[2], 0b11)
        assert await steps(ctx, memory, 2 * DEPTH) == []
        assert ctx.get(words[2]).as_bits() == right[2] ^ 0b11

    run_gated(memory, bench)


def test_traffic_sees_nothing_of_it():
    """Under random accesses, bit errors and scrubber steps, every read returns the written word in
    the next cycle."""
    seed = 3
    print(f"seed {seed}")
    rng, memory = random.Random(seed), ProtectedMemory(WIDTH, depth=DEPTH)

    async def bench(ctx):
        content, read, scrub_corrected, yielded = [0] * DEPTH, None, 0, 0
        ctx.set(memory.scrub, 1)
        for _ in range(6000):
            if read is not None:
                assert ctx.get(memory.o) == read and not ctx.get(memory.lost)
            writes, reads = rng.random() < 0.3, rng.random() < 0.4
            row, at, word = rng.randrange(DEPTH), rng.randrange(DEPTH), rng.getrandbits(WIDTH)
            ctx.set(memory.write, writes)
            ctx.set(memory.write_address, row)
            ctx.set(memory.i, word)
            ctx.set(memory.read, reads)
            ctx.set(memory.read_address, at)
            yielded += ctx.get(memory.walk.holds) and writes
            scrub_corrected += ctx.get(memory.scrub_corrected)
            read = content[at] if reads else None
            await ctx.tick()
            if writes:
                content[row] = word
            wrong = rng.randrange(DEPTH)
            stored = ctx.get(memory.words.data[wrong])
            # Never a second bit error in a word.
            if rng.random() < 0.2 and right(ctx, memory, stored, content[wrong]):
                turn(ctx, memory.words.data[wrong], 1 << rng.randrange(WIDTH))
        assert scrub_corrected > 50 and yielded > 10

    def right(ctx, memory, stored, word):
        return stored.word == word and stored.check == CHECKS[word]

    run_gated(memory, bench)


def test_a_table_is_corrected_way_by_way():
    rows, ways = 4, 3
    table, walk = TrackerTable(ENTRY, rows=rows, ways=ways), Walk(rows)

    async def bench(ctx):
        ctx.set(table.may_write, 1)
        await ctx.tick().repeat(rows + 1)
        for row in range(rows):
            for way in range(ways):
                ctx.set(table.write_ways, 1 << way)
                ctx.set(table.write_set, row)
                ctx.set(table.write, ENTRY.from_bits(2 * (ways * row + way) + 1))
                await ctx.tick()
        ctx.set(table.write_ways, 0)
        ctx.set(table.may_write, 0)  # which would enable the clock
        await ctx.tick().repeat(3)
        words = [memory.data for memory in table.entries]
        right = [[ctx.get(word[row]).as_bits() for word in words] for row in range(rows)]
        for way in (0, 2):
            turn(ctx, words[way][1], 1 << way + 3)
        turn(ctx, words[1][2], 0b110)
        assert await steps(ctx, table, 2 * rows + 2) == walk(2 * rows + 2, [1, 1]) == [1, 2]
        right[2][1] ^= 0b110
        assert [[ctx.get(word[row]).as_bits() for word in words] for row in range(rows)] == right
        # Without a free cycle nothing is read, and the step stays due.
        turn(ctx, words[0][3], 2)
        ctx.set(table.read, 1)
        assert await steps(ctx, table, 3 * rows) == []
        ctx.set(table.read, 0)
        walk(1)
        found = await steps(ctx, table, rows + 1)
        assert found == walk(rows + 1, [3]) and len(found) == 1

    run_gated(table, bench)


EARLY = {
    "a step is missed": ["self.step"],
    "the clock stops in the cycle in which the row is checked": ["looks"],
    "the clock stops while the corrected row is held": ["self.looked", "self.holds"],
}


# In a protected memory the write of the held row enables the clock, too.
@pytest.mark.parametrize(
    ("block", "fault"),
    [("protected_memory", fault) for fault, causes in EARLY.items() if "self.holds" not in causes]
    + [("table", fault) for fault in EARLY],
)
def test_a_scrubber_whose_clock_stops_early_is_noticed(block, fault, monkeypatch):
    causes = ["self.step", "due", "looks", "self.looked", "self.holds"]
    bug = SeededBug(
        module="rtl.lib.scrubber",
        block="Scrubber",
        fault=fault,
        right=f"Cat({', '.join(causes)})",
        wrong=f"Cat({', '.join(one for one in causes if one not in EARLY[fault])})",
    )
    module, check = {
        "protected_memory": ("rtl.lib", check_a_memory),
        "table": ("rtl.tracker", test_a_table_is_corrected_way_by_way),
    }[block]
    monkeypatch.setattr(f"{module}.{block}.Scrubber", bug.seeded())
    with pytest.raises(AssertionError):
        check()


def test_a_memory_whose_clock_stops_with_a_held_row_is_noticed():
    bug = SeededBug(
        module="rtl.lib.protected_memory",
        block="ProtectedMemory",
        fault="the clock stops while the corrected row is held",
        right="Cat(read.en, write.en, written, walk.clock_enable, injector.clock_enable).any()",
        wrong="(Cat(read.en, self.write, written, injector.clock_enable).any() "
        "| (walk.clock_enable & ~walk.holds))",
    )
    with pytest.raises(AssertionError):
        check_a_memory(bug.seeded())


def check_a_memory(kind=ProtectedMemory):
    check_correction(kind(WIDTH, depth=DEPTH), 0)
