"""Bit errors on demand in the memories with check bits."""

import pytest
from amaranth.lib import data
from amaranth.sim import Simulator

from rtl.lib.protected_memory import ProtectedMemory
from rtl.lib.protected_queue import ProtectedQueue
from rtl.tracker.table import TrackerTable

WIDTH, DEPTH = 8, 4
ENTRY = data.StructLayout({"valid": 1, "content": 7})


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


async def arm(ctx, dut, *, select=1, double=0):
    ctx.set(dut.inject.set, 1)
    ctx.set(dut.inject.select, select)
    ctx.set(dut.inject.double, double)
    await ctx.tick()
    ctx.set(dut.inject.set, 0)
    assert ctx.get(dut.inject.armed) == select


async def store(ctx, memory, row, word):
    ctx.set(memory.write, 1)
    ctx.set(memory.write_address, row)
    ctx.set(memory.i, word)
    await ctx.tick()
    ctx.set(memory.write, 0)


async def load(ctx, memory, row):
    ctx.set(memory.read, 1)
    ctx.set(memory.read_address, row)
    await ctx.tick()
    return ctx.get(memory.o), ctx.get(memory.corrected), ctx.get(memory.lost)


@pytest.mark.parametrize("double", [0, 1])
def test_the_next_word_of_a_memory(double):
    memory = ProtectedMemory(WIDTH, depth=DEPTH)

    async def bench(ctx):
        await arm(ctx, memory, double=double)
        await ctx.tick().repeat(5)
        assert ctx.get(memory.inject.armed)
        for row in range(DEPTH):
            await store(ctx, memory, row, 0xA0 + row)
            assert not ctx.get(memory.inject.armed)
        _, corrected, lost = await load(ctx, memory, 0)
        assert (corrected, lost) == (not double, double)
        for row in range(double, DEPTH):
            word, corrected, _ = await load(ctx, memory, row)
            assert (word, corrected) == (0xA0 + row, row == 0)
        # A word that is written again has no error.
        await store(ctx, memory, 0, 0x5A)
        assert await load(ctx, memory, 0) == (0x5A, 0, 0)

    simulate(memory, bench)


def test_another_target_ends_it():
    memory = ProtectedMemory(WIDTH, depth=DEPTH)

    async def bench(ctx):
        await arm(ctx, memory)
        await arm(ctx, memory, select=0)
        await store(ctx, memory, 0, 7)
        assert await load(ctx, memory, 0) == (7, 0, 0)

    simulate(memory, bench)


@pytest.mark.parametrize("double", [0, 1])
def test_the_next_payload_of_a_queue(double):
    queue = ProtectedQueue(WIDTH, depth=DEPTH)

    async def bench(ctx):
        await arm(ctx, queue, double=double)
        payloads, left, corrected, lost = [0x11, 0x22, 0x33], [], 0, []
        ctx.set(queue.o.ready, 1)
        for cycle in range(12):
            ctx.set(queue.i.valid, cycle < len(payloads))
            ctx.set(queue.i.p, payloads[min(cycle, 2)])
            corrected += ctx.get(queue.corrected)
            if ctx.get(queue.lost):
                lost.append(ctx.get(queue.suspect))
            if ctx.get(queue.o.valid):
                left.append(ctx.get(queue.o.p))
            await ctx.tick()
        assert corrected == (not double)
        # The lost word reads with its two lowest bits wrong.
        assert (left, lost) == ((payloads[1:], [0x12]) if double else (payloads, []))

    simulate(queue, bench)


def test_the_next_valid_entry_of_a_table():
    """A write that clears the entries of all ways is not injected into."""
    rows, ways = 4, 2
    table = TrackerTable(ENTRY, rows=rows, ways=ways)

    async def write(ctx, ways_written, row, entry):
        ctx.set(table.may_write, 1)
        ctx.set(table.write_ways, ways_written)
        ctx.set(table.write_set, row)
        ctx.set(table.write, ENTRY.from_bits(entry))
        await ctx.tick()
        ctx.set(table.write_ways, 0)

    async def look(ctx, row):
        ctx.set(table.read, 1)
        ctx.set(table.read_set, row)
        await ctx.tick()
        ctx.set(table.read, 0)
        corrected = ctx.get(table.corrected)
        await ctx.tick()
        return [ctx.get(entry).as_bits() for entry in table.row], corrected

    async def bench(ctx):
        await ctx.tick().repeat(rows)
        assert not ctx.get(table.clearing)
        await arm(ctx, table)
        await write(ctx, 0b11, 2, 0)
        await ctx.tick().repeat(2)
        assert ctx.get(table.inject.armed)
        await write(ctx, 0b01, 1, 0x45)
        # The entry is on its way; then it comes from the memory.
        assert await look(ctx, 1) == ([0x45, 0], 0)
        assert not ctx.get(table.inject.armed)
        await ctx.tick().repeat(2)
        assert await look(ctx, 1) == ([0x45, 0], 1)
        assert await look(ctx, 2) == ([0, 0], 0)

    simulate(table, bench)
