"""INJECT selects one memory, if it exists."""

import pytest
from amaranth.sim import Simulator

from rtl.interface.encodings import ConfigurationError, InjectTarget
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.port import Registers, Response
from tests.support.register_bus import outcome, read, start_write, write

P = T3Parameters(channels=2, system_channels=4, banks=4, contexts=3)
INJECT = register_map.load()["INJECT"]
INSTANCES = {
    InjectTarget.TRACKER: P.banks,
    InjectTarget.TILES: P.contexts,
    InjectTarget.GROUPS: P.contexts,
    InjectTarget.COMMANDS: P.contexts,
    InjectTarget.ISSUE_ACKS: P.channels,
}
OKAY = Response.OKAY.value
NONE, UNKNOWN = ConfigurationError.NONE, ConfigurationError.UNKNOWN_INDEX


def simulate(bench):
    dut = Registers(P)
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)

    async def run(ctx):
        await bench(ctx, dut)

    simulator.add_testbench(run)
    simulator.run()


def test_every_memory_and_the_first_that_is_not_there():
    async def bench(ctx, dut):
        for target, count in INSTANCES.items():
            for instance in (*range(count), count, 255):
                before = await read(ctx, dut, INJECT.address)
                word = INJECT.pack(target=target.value, instance=instance, double=instance % 2)
                found = await outcome(ctx, dut, INJECT.address, word)
                assert found == (NONE if instance < count else UNKNOWN)
                after = await read(ctx, dut, INJECT.address)
                assert after == ((word, OKAY) if instance < count else before)
        for target in (6, 7):
            word = INJECT.pack(target=target)
            assert await outcome(ctx, dut, INJECT.address, word) == UNKNOWN
        assert await outcome(ctx, dut, INJECT.address, INJECT.pack(instance=255)) == NONE

    simulate(bench)


@pytest.mark.parametrize("instance, strobes", [(3, [0, 1, 0]), (4, [0, 0, 0])])
def test_the_strobe_comes_with_the_fields(instance, strobes):
    """The strobe lasts one cycle, the one after the write takes effect; a refused write has no
    strobe."""

    async def bench(ctx, dut):
        word = INJECT.pack(target=InjectTarget.TRACKER.value, instance=instance, double=1)
        start_write(ctx, dut, INJECT.address, word)
        await ctx.tick()
        seen = []
        for _ in strobes:
            inject = ctx.get(dut.inject)
            seen.append(inject.set)
            if inject.set:
                assert (inject.target, inject.instance, inject.double) == (
                    InjectTarget.TRACKER,
                    instance,
                    1,
                )
            await ctx.tick()
        assert seen == strobes

    simulate(bench)


def test_armed_is_what_the_hardware_says():
    async def bench(ctx, dut):
        word = INJECT.pack(target=InjectTarget.COMMANDS.value)
        await write(ctx, dut, INJECT.address, word | INJECT["armed"].mask)
        assert await read(ctx, dut, INJECT.address) == (word, OKAY)
        ctx.set(dut.armed, 1)
        assert await read(ctx, dut, INJECT.address) == (word | INJECT["armed"].mask, OKAY)

    simulate(bench)
