"""Epochs of each context: their restart, and their end."""

from rtl.interface.encodings import ConfigurationError
from rtl.parameters import T3Parameters
from rtl.registers.port import Registers, Response
from tests.support.launch_bench import (
    LAUNCH,
    MAP,
    NO_EPOCH,
    P,
    launch_error,
    launches,
    restart,
    write_launch,
)
from tests.support.register_bus import outcome, read, write
from tests.support.simulation import device, simulate


def test_no_scrub_while_a_launch_or_an_abort_goes_on():
    """A scrub is refused while a launch runs, while one waits although none runs, and until nothing
    of a launch is left."""
    dut = device(Registers, P)
    ports, control, scrub = dut.context[0], MAP["CONTROL"], MAP["EPOCH_RESET"]

    async def bench(ctx):
        async def scrubs():
            found = await outcome(ctx, dut, scrub.address, scrub.pack(restart=1))
            assert found in (ConfigurationError.NONE, ConfigurationError.IN_USE)
            return found == ConfigurationError.NONE

        for number in range(2):
            await write_launch(ctx, dut)
            ctx.set(ports.launch_drained, int(number == 0))
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            assert not await scrubs()
            # The next one waits for the rest of the first.
            ctx.set(ports.launch_drained, 0)
            ctx.set(ports.done, 1)
        assert await launches(ctx, dut) == (1, 1, 1)
        assert not await scrubs()
        ctx.set(ports.drained, 0)
        await write(ctx, dut, control.address, control.pack(abort=1))
        await ctx.tick().repeat(3)
        assert not await scrubs()
        ctx.set(ports.drained, 1)
        await ctx.tick().repeat(3)
        assert await scrubs()
        assert (await read(ctx, dut, MAP["EPOCHS"].address))[0] == 1

    simulate(dut, bench)


async def launches_of(ctx, dut, context, count):
    """Do launches without a kernel, each with the next generation; return their epochs."""
    epochs, ports = [], dut.context[context]
    for name in ("drained", "launch_drained", "done"):
        ctx.set(getattr(ports, name), 1)
    for name in ("CREDIT_WINDOW", "COMMAND_WINDOW"):
        await write(ctx, dut, MAP[name].address_in(context), MAP[name].pack(workgroups=1))
    tracking, control = MAP["TRACKING"], MAP["CONTROL"]
    for number in range(count):
        word = tracking.pack(generation=number % 16)
        await write(ctx, dut, tracking.address_in(context), word)
        response = await write(ctx, dut, control.address_in(context), control.pack(launch=1))
        assert response == Response.OKAY.value, number
        await ctx.tick().repeat(3)
        epochs.append(ctx.get(ports.launch_configuration.epoch))
    return epochs


def test_each_context_has_its_epochs():
    """After 255 launches the epoch tags in memory must be cleared, of this context only: the other
    one goes on, and holds nothing up."""
    dut = device(Registers, T3Parameters(contexts=2))
    epochs = MAP["EPOCHS"]

    async def bench(ctx):
        for context in (0, 1):
            await restart(ctx, dut, context)
        assert await launches_of(ctx, dut, 0, 255) == [*range(1, 256)]
        word = MAP["TRACKING"].pack(generation=255 % 16)
        await write(ctx, dut, MAP["TRACKING"].address, word)
        assert await launch_error(ctx, dut) == ConfigurationError.EPOCH
        # A launch of the other context waits in mid-run.
        assert await launches_of(ctx, dut, 1, 1) == [1]
        ctx.set(dut.context[1].done, 0)
        assert await launches_of(ctx, dut, 1, 0) == []
        assert (await read(ctx, dut, epochs.address_in(1)))[0] == 2
        await restart(ctx, dut, 0)
        assert await launch_error(ctx, dut) == ConfigurationError.NONE
        assert ctx.get(dut.context[0].launch_configuration.epoch) == 1

    simulate(dut, bench)


def test_no_epoch_is_left_after_a_reset():
    """The memory may hold tags of launches before the reset."""
    dut = device(Registers, P)
    scrub = MAP["EPOCH_RESET"]

    async def bench(ctx):
        assert (await read(ctx, dut, MAP["EPOCHS"].address))[0] == NO_EPOCH
        # A restart waits for the end of the reset.
        assert ctx.get(dut.context[0].aborting)
        found = await outcome(ctx, dut, scrub.address, scrub.pack(restart=1))
        assert found == ConfigurationError.IN_USE
        ctx.set(dut.context[0].drained, 1)
        await ctx.tick().until(~dut.context[0].aborting)
        for name, fields in LAUNCH.items():
            await write(ctx, dut, MAP[name].address, MAP[name].pack(**fields))
        assert await launch_error(ctx, dut) == ConfigurationError.EPOCH
        await restart(ctx, dut)
        assert await launch_error(ctx, dut) == ConfigurationError.NONE

    simulate(dut, bench)
