"""Launches through the register port: those that wait, and those that an abort ends."""

import pytest

from rtl.interface.encodings import ConfigurationError
from rtl.registers.port import Registers
from tests.support.launch_bench import MAP, P, launch_error, launches, write_launch
from tests.support.register_bus import outcome, read, start_write, write
from tests.support.simulation import device, simulate


def test_a_launch_waits_for_the_one_before():
    dut = device(Registers, P)
    ports = dut.context[0]

    async def bench(ctx):
        await write_launch(ctx, dut, TO_SEND={"count": 7})
        assert await launch_error(ctx, dut) == ConfigurationError.NONE
        assert await launches(ctx, dut) == (1, 0, 0)
        await write_launch(ctx, dut, TO_SEND={"count": 8})
        assert ctx.get(ports.launch_configuration.to_send) == 7
        assert await launch_error(ctx, dut) == ConfigurationError.NONE
        assert await launches(ctx, dut) == (1, 0, 1)
        # A waiting launch is kept unchanged.
        assert await launch_error(ctx, dut) == ConfigurationError.IN_USE
        for name, fields in {"TO_SEND": {}, "REGION_COMMIT": {"index": 1}}.items():
            word = MAP[name].pack(**fields)
            found = await outcome(ctx, dut, MAP[name].address, word)
            assert found == ConfigurationError.IN_USE
        # A launch that is done has not drained yet.
        ctx.set(ports.launch_drained, 0)
        ctx.set(ports.done, 1)
        assert await launches(ctx, dut) == (1, 1, 1)
        assert ctx.get(ports.launch_configuration.to_send) == 7
        ctx.set(ports.launch_drained, 1)
        await ctx.tick()
        assert ctx.get(ports.launch) and ctx.get(ports.launch_configuration.to_send) == 8
        ctx.set(ports.done, 0)
        assert await launches(ctx, dut) == (2, 1, 0)

    simulate(dut, bench)


def test_tables_are_those_of_the_launch():
    """Commits during a launch take effect with the next one."""
    dut = device(Registers, P)
    ports = dut.context[0]

    async def bench(ctx):
        for number in range(1, 4):
            limit = {
                "REGION_LIMIT_LO": {"bytes": number << 12},
                "REGION_COMMIT": {"index": 0, "enable": 1},
            }
            await write_launch(ctx, dut, **limit)
            region = ctx.get(ports.maps.regions[0])
            assert region.limit * P.atom_bytes == (number - 1) << 12
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            await ctx.tick().repeat(3)
            assert ctx.get(ports.maps.regions[0].limit) * P.atom_bytes == number << 12
            ctx.set(ports.done, 1)
            await ctx.tick()
            ctx.set(ports.done, 0)

    simulate(dut, bench)


def test_an_abort_forgets_what_waits():
    dut = device(Registers, P)
    ports, control = dut.context[0], MAP["CONTROL"]

    async def bench(ctx):
        for number in range(2):
            await write_launch(ctx, dut, TRACKING={"generation": number})
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
        assert ctx.get(ports.launched) and not ctx.get(ports.former.valid)
        await write(ctx, dut, control.address, control.pack(abort=1))
        await ctx.tick().repeat(3)
        assert await launches(ctx, dut) == (1, 0, 0)
        assert not ctx.get(ports.launched)
        both = control.pack(launch=1, abort=1)
        assert await outcome(ctx, dut, control.address, both) == ConfigurationError.IN_USE
        for busy, left in (("clearing", 1), ("drained", 0)):
            await write_launch(ctx, dut)
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            # An abort does not end before all work has drained.
            ctx.set(getattr(ports, busy), left)
            await write(ctx, dut, control.address, control.pack(abort=1))
            await ctx.tick().repeat(5)
            assert await launch_error(ctx, dut) == ConfigurationError.IN_USE
            ctx.set(getattr(ports, busy), 1 - left)
            await ctx.tick().repeat(3)

    simulate(dut, bench)


def test_an_abort_leaves_no_launch_to_wait_for():
    """STATUS shows no launch as running or pending after an abort, whatever the abort ended; the
    next launch is shown as before, also as the counters of launches wrap."""
    dut = device(Registers, P)
    ports, control = dut.context[0], MAP["CONTROL"]

    async def shown(ctx):
        word, _ = await read(ctx, dut, MAP["STATUS"].address)
        status = MAP["STATUS"].unpack(word)
        return status["running"], status["pending"], status["aborted"]

    async def bench(ctx):
        page = dut.pages[0]
        for count in (0, 0xFFFE, 0xFFFF):
            ctx.set(page.begun, count)
            ctx.set(page.done, count)
            for waiting in range(3):  # nothing, a launch that runs, and one behind it
                for number in range(waiting):
                    await write_launch(ctx, dut)
                    assert await launch_error(ctx, dut) == ConfigurationError.NONE
                    assert await shown(ctx) == (1, number, 0)
                before = await shown(ctx)
                await write(ctx, dut, control.address, control.pack(abort=1))
                await ctx.tick().repeat(3)
                # An abort without a launch keeps what the abort before it left.
                assert await shown(ctx) == (0, 0, 1 if waiting else before[2])
            await write_launch(ctx, dut)
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            assert await shown(ctx) == (1, 0, 0)
            ctx.set(ports.done, 1)
            await ctx.tick().repeat(2)
            ctx.set(ports.done, 0)
            assert await shown(ctx) == (0, 0, 0)
        # The launch before is done, and the one that waits is dropped.
        await write_launch(ctx, dut)
        assert await launch_error(ctx, dut) == ConfigurationError.NONE
        await write_launch(ctx, dut)
        ctx.set(ports.launch_drained, 0)
        ctx.set(ports.done, 1)
        assert await launch_error(ctx, dut) == ConfigurationError.NONE
        assert await shown(ctx) == (0, 1, 0)
        await write(ctx, dut, control.address, control.pack(abort=1))
        assert await shown(ctx) == (0, 0, 1)

    simulate(dut, bench)


def test_an_abort_lasts_until_what_it_clears_can_be_seen():
    """Idle is low for two cycles at least: blocks become busy in the cycle after the strobe."""
    dut = device(Registers, P)
    ports, control = dut.context[0], MAP["CONTROL"]

    async def bench(ctx):
        for busy, left in (("drained", 0), ("clearing", 1), (None, 0)):
            await write_launch(ctx, dut)
            await ctx.tick().repeat(3)
            assert not ctx.get(ports.aborting)
            start_write(ctx, dut, control.address, control.pack(abort=1))
            ctx.set(dut.bus.bready, 1)
            await ctx.tick()
            ctx.set(dut.bus.awvalid, 0)
            ctx.set(dut.bus.wvalid, 0)
            await ctx.tick().until(ports.abort)
            seen = []
            for step in range(8):
                # The context is busy from two cycles behind the strobe on.
                if busy:
                    ctx.set(getattr(ports, busy), left if step == 1 else 1 - left)
                seen.append(ctx.get(ports.aborting))
                await ctx.tick()
            assert seen == ([1, 1, 1, 0, 0, 0, 0, 0] if busy else [1, 1, 0, 0, 0, 0, 0, 0])

    simulate(dut, bench)


def test_former_launch():
    """The generation of the previous launch is kept until the next launch or an abort."""
    dut = device(Registers, P)
    ports, control = dut.context[0], MAP["CONTROL"]

    async def bench(ctx):
        ctx.set(ports.done, 1)
        for number in range(3):
            tracking = {"generation": 5 + number}
            await write_launch(ctx, dut, TRACKING=tracking)
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            await ctx.tick().repeat(4)
            former = ctx.get(ports.former)
            assert (former.valid, former.generation) == ((1, 4 + number) if number else (0, 0))
        await write(ctx, dut, control.address, control.pack(abort=1))
        assert not ctx.get(ports.former.valid)

    simulate(dut, bench)


@pytest.mark.parametrize("bit, name", [(1, "abort"), (2, "start")])
def test_strobes(bit, name):
    """The strobe is high for one cycle after the write takes effect, whatever becomes of the
    response."""
    dut = device(Registers, P)
    others = [other for other in ("launch", "abort", "start") if other != name]

    async def bench(ctx):
        await write_launch(ctx, dut)
        start_write(ctx, dut, MAP["CONTROL"].address, 1 << bit)
        seen = []
        for cycle in range(8):
            seen.append(ctx.get(getattr(dut.context[0], name)))
            assert not any(ctx.get(getattr(dut.context[0], other)) for other in others)
            await ctx.tick()
            if cycle == 0:
                ctx.set(dut.bus.awvalid, 0)
                ctx.set(dut.bus.wvalid, 0)
        assert seen == [0, 0, 1, 0, 0, 0, 0, 0]

    simulate(dut, bench)
