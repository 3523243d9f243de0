"""The counter of outstanding requests, against plain sums."""

import random

import pytest
from amaranth.sim import Simulator

from rtl.channel.outstanding_counter import OutstandingCounter


@pytest.mark.parametrize("seed", range(3))
def test_counts(seed):
    """Begins count in the next cycle, ends in the one after; surplus ends are ignored."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    dut = OutstandingCounter(begins=2, ends=4)

    async def bench(ctx):
        count, begun, ended, seen = 0, 0, 0, set()
        for cycle in range(3000):
            more = rng.random() < 0.6 if cycle // 100 % 2 else rng.random() < 0.2
            begin, end = (rng.getrandbits(2), 0) if more else (0, rng.getrandbits(4))
            together = 0 if more or rng.random() < 0.8 else rng.getrandbits(4)
            ctx.set(dut.begin, begin)
            ctx.set(dut.end, end)
            ctx.set(dut.end_count, together)
            assert ctx.get(dut.none) == (count == 0 and begun == 0), cycle
            seen.add((count == 0, begun == 0))
            count = max(count + begun - ended, 0)
            begun, ended = begin.bit_count(), end.bit_count() + together
            await ctx.tick()
        assert len(seen) == 4

    _simulate(dut, bench)


def test_as_many_as_a_memory_controller_may_hold():
    """The counter holds up to 4,095 accesses, which may end one by one."""
    dut = OutstandingCounter(begins=2, ends=4)

    async def bench(ctx):
        most = 4094
        ctx.set(dut.begin, 3)
        for _ in range(most // 2):
            await ctx.tick()
        ctx.set(dut.begin, 0)
        ctx.set(dut.end, 1)
        for _ in range(most + 1):
            assert not ctx.get(dut.none)
            await ctx.tick()
        ctx.set(dut.end, 0)
        await ctx.tick()
        assert ctx.get(dut.none)

    _simulate(dut, bench)


def _simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
