"""The memory of two halves against a list of rows."""

import random

import pytest
from amaranth.sim import Simulator

from rtl.lib.split_memory import SplitMemory


@pytest.mark.parametrize("depth", [0, 2, 5])
def test_wrong_depth(depth):
    with pytest.raises(ValueError, match=rf"even number, at least 4, not {depth}"):
        SplitMemory(8, depth=depth)


def test_depth_of_a_wrong_type():
    with pytest.raises(TypeError, match=r"Depth must be an integer, not '4'"):
        SplitMemory(8, depth="4")


@pytest.mark.parametrize("depth", [4, 6, 10])
def test_against_a_list(depth):
    """A read returns the word written last, from the next cycle until the next read; no read
    happens while the same half is written."""
    seed = depth
    print("seed", seed)
    rng = random.Random(seed)
    dut = SplitMemory(8, depth=depth)
    waits = {False: 0, True: 0}

    async def bench(ctx):
        rows, shown = [0] * depth, None
        for _ in range(1000):
            write, read = (rng.random() < 0.6 for _ in range(2))
            write_row, read_row = (rng.randrange(depth) for _ in range(2))
            data = rng.getrandbits(8)
            for name, value in (
                ("write", write),
                ("write_row", write_row),
                ("write_data", data),
                ("read", read),
                ("read_row", read_row),
            ):
                ctx.set(getattr(dut, name), value)
            collides = write and write_row % 2 == read_row % 2
            assert ctx.get(dut.reads) == (read and not collides)
            assert shown is None or ctx.get(dut.data) == shown
            if read:
                waits[collides] += 1
            if read and not collides:
                shown = rows[read_row]
            if write:
                rows[write_row] = data
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert min(waits.values()) > 100
