"""Slots of a launch in which tiles are tracked, and what a tracked tile needs to be complete."""

import pytest

from rtl.interface.encodings import Action, ConfigurationError
from rtl.registers.port import Registers
from tests.support.launch_bench import TO_PEER, P, launch_error, write_launch
from tests.support.simulation import device, simulate


@pytest.mark.parametrize("shares", [0, 1, 1 << (P.share_bits - 1), (1 << P.share_bits) - 1])
@pytest.mark.parametrize("action", [Action.REMOTE, Action.DMA, Action.OWN])
def test_tracked_tiles_need_wavefronts_and_shares(action, shares):
    """A tile without a wavefront is never complete. Where stores leave, tiles arrive only in the
    slots of a range with shares; where stores update the memory, a tile needs shares."""
    dut = device(Registers, P)
    tables = {
        "REGION_LIMIT_LO": {"bytes": 1 << 20},
        "REGION_COMMIT": {"index": 0, "enable": 1},
        "COMMAND_COMMIT": {"index": 2},
        "RANGE_ACTION": {"action": action.value, "command": 2, "shares": shares},
        **TO_PEER,
        "RANGE_COMMIT": {"index": 1, "enable": 1},
    }
    arrives, updates = shares > 0, action != Action.REMOTE

    async def bench(ctx):
        for edge in (None, 0, 3):
            waves = {} if edge is None else {f"waves{edge}": 1}
            await write_launch(ctx, dut, COMMAND_WAVES=waves, **tables)
            empty = (edge is None and (arrives or updates)) or (updates and not arrives)
            expected = ConfigurationError.EMPTY if empty else ConfigurationError.NONE
            assert await launch_error(ctx, dut) == expected, edge
            for done in (1, 0):
                await ctx.tick().repeat(3)
                ctx.set(dut.context[0].done, done)
            await ctx.tick().repeat(3)

    simulate(dut, bench)


def test_slots_of_a_launch():
    """The channels get the end of the launch's dispatch indices and tracked slots, once it begins;
    the programmed registers do not matter before."""
    dut = device(Registers, P)
    ports, most = dut.context[0], 1 << P.workgroup_bits

    async def bench(ctx):
        before = 0
        for workgroups, end in ((9, 0), (9, 8), (9, 10), (0, 40), (most, 3), (3, most), (7, 7)):
            counts = {"WORKGROUPS": {"count": workgroups}, "TRACKED_END": {"dispatch_index": end}}
            await write_launch(ctx, dut, **counts)
            assert ctx.get(ports.slots) == before
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            await ctx.tick().repeat(3)
            before = max(workgroups, end)
            assert ctx.get(ports.slots) == before
            for done in (1, 0):
                ctx.set(ports.done, done)
                await ctx.tick().repeat(3)

    simulate(dut, bench)
