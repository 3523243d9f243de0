"""Tracker's memory with inverted bits, against a plain list."""

import random
from itertools import combinations

import pytest
from amaranth.lib import data
from amaranth.sim import Simulator

from rtl.tracker.table import TrackerTable

ENTRY = data.StructLayout({"valid": 1, "tag": 5, "count": 7})


def simulate(bench, *, rows, ways):
    dut = TrackerTable(ENTRY, rows=rows, ways=ways)

    async def testbench(ctx):
        await bench(ctx, dut)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(testbench)
    simulator.run()


def turn(ctx, dut, row, way, *bits):
    """Invert bits of an entry in the memory."""
    stored = dut.entries[way].data[row]
    value = ctx.get(stored).as_bits()
    for bit in bits:
        value ^= 1 << bit
    ctx.set(stored, dut.entries[way].shape.from_bits(value))


async def settle(ctx, dut, rows):
    for _ in range(rows):
        assert ctx.get(dut.clearing)
        await ctx.tick()
    assert not ctx.get(dut.clearing)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("rows", "ways"), [(1, 2), (2, 3), (8, 2)])
def test_a_row_is_as_the_writes_until_its_reading_left_it(rows, ways, seed):
    print(f"seed {seed}")
    rng = random.Random(seed)

    async def bench(ctx, dut):
        await settle(ctx, dut, rows)
        table = [[0] * ways for _ in range(rows)]
        asked = []
        for cycle in range(600):
            read, row = rng.random() < 0.8, rng.randrange(rows)
            ctx.set(dut.read, read)
            ctx.set(dut.read_set, row)
            entry, written, way = (
                rng.getrandbits(ENTRY.size),
                rng.randrange(rows),
                rng.randrange(ways),
            )
            write = rng.random() < 0.6
            ctx.set(dut.may_write, write or rng.random() < 0.5)
            ctx.set(dut.write, ENTRY.from_bits(entry))
            ctx.set(dut.write_set, written)
            ctx.set(dut.write_ways, write << way)
            if write:
                table[written][way] = entry
            asked.append(list(table[row]) if read else None)
            if cycle >= 2 and asked[cycle - 2]:
                assert [ctx.get(entry).as_bits() for entry in dut.row] == asked[cycle - 2], cycle
            assert not ctx.get(dut.corrected) and not ctx.get(dut.lost)
            await ctx.tick()

    simulate(bench, rows=rows, ways=ways)


async def written(ctx, dut, entries):
    """Row 1 with these entries."""
    await settle(ctx, dut, 4)
    ctx.set(dut.may_write, 1)
    for way, entry in enumerate(entries):
        ctx.set(dut.write, ENTRY.from_bits(entry))
        ctx.set(dut.write_set, 1)
        ctx.set(dut.write_ways, 1 << way)
        await ctx.tick()
    ctx.set(dut.write_ways, 0)
    await ctx.tick().repeat(2)


async def read(ctx, dut):
    """Row 1: its entries, and whether something in it was corrected or lost."""
    ctx.set(dut.read_set, 1)
    ctx.set(dut.read, 1)
    await ctx.tick()
    ctx.set(dut.read, 0)
    corrected = ctx.get(dut.corrected)
    await ctx.tick()
    return [ctx.get(entry).as_bits() for entry in dut.row], corrected, ctx.get(dut.lost)


ENTRIES = [0x1555, 0x0AAB]
CODE_BITS = ENTRY.size + 5


@pytest.mark.parametrize("way", range(2))
def test_single_bit_error(way):
    async def bench(ctx, dut):
        await written(ctx, dut, ENTRIES)
        for bit in range(CODE_BITS):
            turn(ctx, dut, 1, way, bit)
            assert await read(ctx, dut) == (ENTRIES, 1, 0), bit
            turn(ctx, dut, 1, way, bit)
        assert await read(ctx, dut) == (ENTRIES, 0, 0)

    simulate(bench, rows=4, ways=2)


def test_double_bit_error():
    """The lost entry is invalid; the other entry is unchanged."""

    async def bench(ctx, dut):
        await written(ctx, dut, ENTRIES)
        for bits in combinations(range(CODE_BITS), 2):
            turn(ctx, dut, 1, 1, *bits)
            (kept, lost_entry), _, lost = await read(ctx, dut)
            assert kept == ENTRIES[0] and not lost_entry & 1 and lost, bits
            turn(ctx, dut, 1, 1, *bits)

    simulate(bench, rows=4, ways=2)


def test_one_bit_error_in_each_entry():
    async def bench(ctx, dut):
        await written(ctx, dut, ENTRIES)
        turn(ctx, dut, 1, 0, 3)
        turn(ctx, dut, 1, 1, 12)
        assert await read(ctx, dut) == (ENTRIES, 1, 0)

    simulate(bench, rows=4, ways=2)


def test_bit_errors_in_an_entry_that_is_being_written():
    """A bit error in the old entry no longer counts."""

    async def bench(ctx, dut):
        await written(ctx, dut, ENTRIES)
        turn(ctx, dut, 1, 0, 3, 4)
        ctx.set(dut.write, ENTRY.from_bits(0x99))
        ctx.set(dut.write_ways, 1)
        await ctx.tick()
        ctx.set(dut.write_ways, 0)
        assert await read(ctx, dut) == ([0x99, ENTRIES[1]], 0, 0)

    simulate(bench, rows=4, ways=2)
