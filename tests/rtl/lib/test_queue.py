import random
from collections import deque

import pytest
from amaranth.sim import Simulator

from rtl.lib.queue import Queue


@pytest.mark.parametrize("depth", [None, 2.0])
def test_wrong_type(depth):
    with pytest.raises(TypeError, match=r"Depth must be an integer, not "):
        Queue(8, depth=depth)


@pytest.mark.parametrize("depth", [1, 0, -2])
def test_too_shallow(depth):
    with pytest.raises(ValueError, match=rf"Depth must be at least 2, not {depth}"):
        Queue(8, depth=depth)


@pytest.mark.parametrize("depth", [2, 3, 4, 8])
def test_against_deque(depth):
    """Order, level and handshake in every cycle; dropped payloads leave no trace."""
    seed = 100 + depth
    print("seed", seed)
    rng = random.Random(seed)
    levels = set()

    async def bench(ctx):
        items = deque()
        for cycle in range(4000):
            if cycle % 100 == 0:
                rates = [rng.choice([0.1, 0.5, 0.9, 1]) for _ in range(2)]
                drops = rng.choice([0, 0.3, 0.9])
            valid, ready = (rng.random() < rate for rate in rates)
            drop = rng.random() < drops
            payload = rng.getrandbits(8)
            ctx.set(dut.i.valid, valid)
            ctx.set(dut.i.p, payload)
            ctx.set(dut.drop, drop)
            ctx.set(dut.o.ready, ready)
            assert ctx.get(dut.level) == len(items)
            assert ctx.get(dut.i.ready) == (len(items) < depth)
            assert ctx.get(dut.o.valid) == bool(items)
            if items:
                assert ctx.get(dut.o.p) == items[0]
            levels.add(len(items))
            space = len(items) < depth
            if items and ready:
                items.popleft()
            if valid and space and not drop:
                items.append(payload)
            await ctx.tick()

    dut = Queue(8, depth=depth)
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert levels == set(range(depth + 1))
