import random

import pytest
from amaranth.sim import Simulator

from rtl.lib.round_robin import Merge, Merge2, RoundRobinPick


def run(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-9, if_exists=True)  # one input needs no state
    simulator.add_testbench(bench)
    simulator.run()


def first_from(requests, pointer):
    """The first of the requests at or after the pointer, counting up and around."""
    order = [(pointer + step) % len(requests) for step in range(len(requests))]
    return next((index for index in order if requests[index]), None)


class TestMerge2:
    @staticmethod
    def cycles(stimulus):
        """Item offered and input taken in each cycle of ``(a valid, b valid, o ready)``."""
        dut = Merge2(8)
        seen = []

        async def bench(ctx):
            ctx.set(dut.a.payload, ord("a"))
            ctx.set(dut.b.payload, ord("b"))
            for a, b, ready in stimulus:
                ctx.set(dut.a.valid, a)
                ctx.set(dut.b.valid, b)
                ctx.set(dut.o.ready, ready)
                offered = chr(ctx.get(dut.o.payload)) if ctx.get(dut.o.valid) else ""
                taken_a = a and ctx.get(dut.a.ready)
                taken_b = b and ctx.get(dut.b.ready)
                seen.append((offered, "a" * taken_a + "b" * taken_b))
                await ctx.tick()

        run(dut, bench)
        return seen

    def test_a_goes_first_then_in_turn(self):
        seen = self.cycles([(1, 1, 1)] * 4)
        assert seen == [("a", "a"), ("b", "b"), ("a", "a"), ("b", "b")]

    def test_only_one(self):
        assert self.cycles([(0, 1, 1)] * 3) == [("b", "b")] * 3
        assert self.cycles([(1, 0, 1)] * 3) == [("a", "a")] * 3
        assert self.cycles([(0, 0, 1)] * 3) == [("", "")] * 3

    def test_last_changes_by_transfer_only(self):
        seen = self.cycles([(1, 1, 0), (1, 1, 0), (1, 1, 1), (1, 1, 0), (0, 0, 1), (1, 1, 1)])
        assert seen == [("a", ""), ("a", ""), ("a", "a"), ("b", ""), ("", ""), ("b", "b")]

    def test_single_transfers_count_as_turns(self):
        seen = self.cycles([(1, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1), (1, 1, 1)])
        assert [taken for _, taken in seen] == ["a", "a", "b", "b", "a"]


@pytest.mark.parametrize("component", [RoundRobinPick, lambda inputs: Merge(8, inputs)])
def test_refuses_wrong_inputs(component):
    with pytest.raises(TypeError, match="^Number of inputs must be an integer, not 2.0$"):
        component(2.0)
    with pytest.raises(ValueError, match="^Number of inputs must be at least 1, not 0$"):
        component(0)


@pytest.mark.parametrize("inputs", [1, 2, 3, 4, 7, 32])
def test_pick(inputs):
    print("seed", inputs)
    rng = random.Random(inputs)
    dut = RoundRobinPick(inputs)

    async def bench(ctx):
        pointer = 0
        for _ in range(400):
            density = rng.random() ** 2
            requests = [rng.random() < density for _ in range(inputs)]
            take = rng.random() < 0.7
            ctx.set(dut.requests, sum(request << k for k, request in enumerate(requests)))
            ctx.set(dut.take, take)
            pick = first_from(requests, pointer)
            assert ctx.get(dut.grant) == (0 if pick is None else 1 << pick)
            if pick is not None and take:
                pointer = (pick + 1) % inputs
            await (ctx.tick() if inputs > 1 else ctx.delay(1e-9))

    run(dut, bench)


@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_merge(inputs):
    print("seed", inputs)
    rng = random.Random(inputs)
    dut = Merge(16, inputs)

    async def bench(ctx):
        pointer = 0
        for _ in range(400):
            payloads = [rng.randrange(1 << 16) for _ in range(inputs)]
            valid = [rng.random() < 0.5 for _ in range(inputs)]
            ready = rng.random() < 0.7
            for source, is_valid, payload in zip(dut.i, valid, payloads, strict=True):
                ctx.set(source.valid, is_valid)
                ctx.set(source.payload, payload)
            ctx.set(dut.o.ready, ready)
            pick = first_from(valid, pointer)
            assert ctx.get(dut.o.valid) == (pick is not None)
            taken = [
                is_valid and ctx.get(source.ready)
                for source, is_valid in zip(dut.i, valid, strict=True)
            ]
            assert taken == [ready and index == pick for index in range(inputs)]
            if pick is not None:
                assert ctx.get(dut.o.payload) == payloads[pick]
                if ready:
                    pointer = (pick + 1) % inputs
            await (ctx.tick() if inputs > 1 else ctx.delay(1e-9))

    run(dut, bench)


def test_every_input_waits_at_most_for_the_others():
    dut = Merge(8, 3)
    takers = []

    async def bench(ctx):
        ctx.set(dut.o.ready, 1)
        for index, source in enumerate(dut.i):
            ctx.set(source.valid, 1)
            ctx.set(source.payload, index)
        for _ in range(7):
            takers.append(ctx.get(dut.o.payload))
            await ctx.tick()

    run(dut, bench)
    assert takers == [0, 1, 2, 0, 1, 2, 0]
