"""Congestion on its ports: its decisions on samples of the channels."""

import pytest
from amaranth.sim import Simulator

from rtl.parameters import T3Parameters
from rtl.trigger.congestion import Congestion


def simulate(channels, bench):
    dut = Congestion(T3Parameters(contexts=1, channels=channels))
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)

    async def run(ctx):
        async def samples(held_up, *, critical=1, active=1):
            """Give the samples, each counted in the cycle after it; return the decision."""
            ctx.set(dut.active, active)
            ctx.set(dut.critical, critical)
            for seen in held_up:
                ctx.set(dut.held_up, seen)
                for strobe in (dut.look, dut.count):
                    ctx.set(strobe, 1)
                    await ctx.tick()
                    ctx.set(strobe, 0)
            return ctx.get(dut.congested)

        await bench(ctx, dut, samples)

    simulator.add_testbench(run)
    simulator.run()


def test_more_than_one_sample_in_eight_decides():
    async def bench(ctx, dut, samples):
        assert not await samples([1, *[0] * 8] * 100)
        assert await samples([1, *[0] * 6] * 300)
        assert not await samples([0] * 520)
        assert not await samples([1] * 36)
        assert await samples([1])

    simulate(1, bench)


def test_only_while_communication_is_critical():
    async def bench(ctx, dut, samples):
        assert not await samples([1] * 200, critical=0)
        assert await samples([1] * 40)
        assert await samples([0] * 600, critical=0)
        assert not await samples([0], critical=0, active=0)
        assert await samples([1] * 40, active=0)

    simulate(1, bench)


@pytest.mark.parametrize("channels", [1, 2, 3, 8])
def test_one_channel_after_the_other(channels):
    """The channel whose turn it is decides, whatever the others do."""

    async def bench(ctx, dut, samples):
        everywhere = (1 << channels) - 1
        turns = [1 << number % channels for number in range(600)]
        assert not await samples([everywhere ^ turn for turn in turns])
        assert await samples(turns[:40] if channels == 1 else turns)

    simulate(channels, bench)


def test_a_few_channels_hold_nothing_up():
    """One channel of sixteen gives less than an eighth of the samples, three channels give more."""

    async def bench(ctx, dut, samples):
        assert not await samples([0b1] * 1600)
        assert await samples([0b111] * 1600)

    simulate(16, bench)


def test_what_happens_between_the_looks_is_nothing():
    async def bench(ctx, dut, samples):
        assert await samples([0b11] * 40)
        ctx.set(dut.held_up, 0)
        await ctx.tick().repeat(1000)
        assert ctx.get(dut.congested)

    simulate(2, bench)


def test_a_group_sent_without_priority_takes_an_eighth_of_the_level():
    async def bench(ctx, dut, samples):
        async def fade():
            ctx.set(dut.fade, 1)
            await ctx.tick()
            ctx.set(dut.fade, 0)
            return ctx.get(dut.level)

        assert await samples([1] * 100)
        ctx.set(dut.critical, 0)
        assert [await fade() for _ in range(9)] == [447, 383, 319, 255, 191, 127, 63, 0, 0]
        assert not ctx.get(dut.congested)

    simulate(1, bench)


def test_wrong_parameters():
    with pytest.raises(TypeError, match="Parameters must be T3Parameters, not 4"):
        Congestion(4)
