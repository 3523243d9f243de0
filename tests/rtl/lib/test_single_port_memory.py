"""A memory with one port, against a list."""

import random

from amaranth.sim import Simulator

from rtl.lib.single_port_memory import SinglePortMemory


def test_what_was_written_is_read():
    """The output stays while nothing is read, whatever is written."""
    seed = 5
    print("seed", seed)
    rng = random.Random(seed)
    dut = SinglePortMemory(8, depth=16)

    async def bench(ctx):
        rows, expected = [0] * 16, 0
        for _ in range(600):
            write, read = rng.choice([(0, 0), (0, 1), (1, 0)])
            to, at, value = rng.randrange(16), rng.randrange(16), rng.getrandbits(8)
            ctx.set(dut.write, write)
            ctx.set(dut.write_address, to)
            ctx.set(dut.i, value)
            ctx.set(dut.read, read)
            ctx.set(dut.read_address, at)
            assert ctx.get(dut.o) == expected
            await ctx.tick()
            if write:
                rows[to] = value
            if read:
                expected = rows[at]

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
