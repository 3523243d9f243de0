"""The queue with check bits, and the buffer of issue acknowledgements that is made of it."""

import random
from collections import deque

import pytest
from amaranth.sim import Simulator

from rtl.channel.issue_ack_buffer import IssueAckBuffer
from rtl.interface.encodings import Access
from rtl.lib.protected_queue import ProtectedQueue
from rtl.parameters import T3Parameters

P = T3Parameters(contexts=1)


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


def test_visible_after_three_cycles_and_one_per_cycle():
    dut = ProtectedQueue(16, depth=8)
    seen = []

    async def bench(ctx):
        ctx.set(dut.o.ready, 1)
        for cycle in range(12):
            ctx.set(dut.i.valid, cycle < 6)
            ctx.set(dut.i.p, 100 + cycle)
            if ctx.get(dut.o.valid):
                seen.append((cycle, ctx.get(dut.o.p)))
            # The queue is empty before the first payload arrives, and after the last one leaves.
            assert ctx.get(dut.empty) == (cycle in (0, 9, 10, 11))
            await ctx.tick()

    simulate(dut, bench)
    assert seen == [(3 + index, 100 + index) for index in range(6)]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost(seed):
    print(f"seed {seed}")
    rng = random.Random(seed)
    dut = ProtectedQueue(16, depth=4)

    async def bench(ctx):
        given, taken, most = [], [], 0
        for cycle in range(600):
            # Phases in which more items enter alternate with phases in which more leave.
            valid, ready = rng.random() < 0.7, rng.random() < (0.4, 0.9)[cycle // 50 % 2]
            payload = rng.getrandbits(16)
            ctx.set(dut.i.valid, valid)
            ctx.set(dut.i.p, payload)
            ctx.set(dut.o.ready, ready)
            if valid and ctx.get(dut.i.ready):
                given.append(payload)
            if ready and ctx.get(dut.o.valid):
                taken.append(ctx.get(dut.o.p))
            most = max(most, len(given) - len(taken))
            assert not ctx.get(dut.corrected) and not ctx.get(dut.lost)
            await ctx.tick()
        assert taken == given[: len(taken)] and len(taken) > 200
        assert most == 4 + 2

    simulate(dut, bench)


def issue_ack(number):
    return {"access": Access.UPDATE, "atom": number, "dispatch_index": number % 7, "wavefront": 1}


def test_a_issue_ack_goes_straight_through_an_empty_buffer():
    dut = IssueAckBuffer(P, depth=8)

    async def bench(ctx):
        ctx.set(dut.o.ready, 1)
        for cycle in range(5):
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.i.p, issue_ack(cycle))
            assert ctx.get(dut.o.valid) and ctx.get(dut.o.p.atom) == cycle
            await ctx.tick()

    simulate(dut, bench)


@pytest.mark.parametrize("seed", range(3))
def test_issue_acks_stay_in_order(seed):
    print(f"seed {seed}")
    rng = random.Random(seed)
    dut = IssueAckBuffer(P, depth=8)

    async def bench(ctx):
        waiting, straight, behind = deque(), 0, 0
        for number in range(800):
            ctx.set(dut.i.valid, rng.random() < 0.6)
            ctx.set(dut.i.p, issue_ack(number))
            ctx.set(dut.o.ready, rng.random() < (0.3, 0.95)[number // 60 % 2])
            empty = not waiting
            if ctx.get(dut.i.valid) and ctx.get(dut.i.ready):
                waiting.append(number)
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                assert ctx.get(dut.o.p) == dut.o.p.shape().const(issue_ack(waiting.popleft()))
                straight += empty
                behind += not empty
            await ctx.tick()
        assert straight > 20 and behind > 100

    simulate(dut, bench)
