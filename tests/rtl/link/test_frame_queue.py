"""Receive buffer: payloads of a frame are offered when the frame is committed."""

import random
from collections import deque

import pytest
from amaranth.sim import Simulator

from rtl.link.frame_queue import FrameQueue


@pytest.mark.parametrize("depth", [5, 6, 9])
def test_against_reference(depth):
    """The committed payloads leave once and in order, and no others; the queue is ready while its
    memory has space for the payloads of the frame."""
    seed = 40 + depth
    print("seed", seed)
    rng = random.Random(seed)
    dut = FrameQueue(16, depth=depth)
    counts = {"left": 0, "dropped": 0, "full": 0}

    async def bench(ctx):
        queue, frame, waited = deque(), [], 0
        for cycle in range(8000):
            first, valid, drop = (rng.random() < share for share in (0.3, 0.8, 0.1))
            commit, take = rng.random() < 0.3, rng.random() < (0.2 if cycle // 500 % 2 else 0.9)
            payload = rng.getrandbits(16)
            if first:
                counts["dropped"] += len(frame)
                frame = []
            ctx.set(dut.first, first)
            ctx.set(dut.drop, drop)
            ctx.set(dut.commit, commit)
            ctx.set(dut.i.valid, valid)
            ctx.set(dut.i.p, payload)
            ctx.set(dut.o.ready, take)
            offers = ctx.get(dut.o.valid)
            assert ctx.get(dut.level) == len(queue)
            space = depth - 1 - (len(queue) - offers) - len(frame)
            assert ctx.get(dut.i.ready) == (space > 0)
            counts["full"] += not space
            waited = 0 if offers or not queue else waited + 1
            assert waited <= 2 + depth  # a write may hold up a read
            if offers:
                assert ctx.get(dut.o.p) == queue[0]
                if take:
                    queue.popleft()
                    counts["left"] += 1
            if valid and space > 0 and not drop:
                frame.append(payload)
            if commit:
                queue += frame
                frame = []
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
    assert min(counts.values()) > 300
