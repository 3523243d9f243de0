"""The walk that corrects a memory, in cycles without traffic."""

import random

import pytest
from amaranth.hdl import Const, Module
from amaranth.lib import data
from amaranth.sim import Simulator

from rtl.lib.protected_memory import ProtectedMemory
from rtl.lib.secded import encode
from rtl.tracker.table import TrackerTable

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


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def turn(ctx, word, mask):
    ctx.set(word, word.shape().from_bits(ctx.get(word).as_bits() ^ mask))


async def steps(ctx, dut, count, *, apart=5):
    """Run some steps of the scrubber; return the number of steps that corrected a word."""
    found = 0
    for _ in range(count):
        ctx.set(dut.scrub, 1)
        for _ in range(apart):
            found += ctx.get(dut.scrub_corrected)
            await ctx.tick()
            ctx.set(dut.scrub, 0)
    return found


@pytest.mark.parametrize("bit", [0, WIDTH - 1, WIDTH, WIDTH + 4])
def test_a_bit_error_in_any_row_is_corrected_and_two_stay(bit):
    memory = ProtectedMemory(WIDTH, depth=DEPTH)

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
            assert await steps(ctx, memory, DEPTH + 1) == 1
            assert [ctx.get(words[row]).as_bits() for row in range(DEPTH)] == right
        turn(ctx, words[2], 0b11)
        assert await steps(ctx, memory, 2 * DEPTH) == 0
        assert ctx.get(words[2]).as_bits() == right[2] ^ 0b11

    simulate(memory, bench)


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

    simulate(memory, bench)


def test_a_table_is_corrected_way_by_way():
    rows, ways = 4, 3
    table = TrackerTable(ENTRY, rows=rows, ways=ways)

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
        await ctx.tick().repeat(3)
        words = [memory.data for memory in table.entries]
        right = [[ctx.get(word[row]).as_bits() for word in words] for row in range(rows)]
        for way in (0, 2):
            turn(ctx, words[way][1], 1 << way + 3)
        turn(ctx, words[1][2], 0b110)
        assert await steps(ctx, table, 2 * rows + 2) == 2
        right[2][1] ^= 0b110
        assert [[ctx.get(word[row]).as_bits() for word in words] for row in range(rows)] == right
        # Without a free cycle nothing is read, and the step stays due.
        turn(ctx, words[0][3], 2)
        ctx.set(table.read, 1)
        assert await steps(ctx, table, 3 * rows) == 0
        ctx.set(table.read, 0)
        assert await steps(ctx, table, rows + 1) == 1

    simulate(table, bench)
