"""Channel after a reset, while the memory still owes what was requested before the reset."""

from rtl.channel.channel import Channel
from rtl.interface.encodings import Access
from tests.support.channel_bench import TIMING
from tests.support.simulation import device, simulate

ACK = {"atom": 5, "dispatch_index": 12, "wavefront": 3, "owner": 1}
OWED_CYCLES = 40


def test_what_the_memory_owed_at_the_reset_is_dropped():
    """No context is drained meanwhile; the acknowledgements after that count."""
    dut = device(Channel, TIMING)

    async def acknowledge(ctx, access):
        ctx.set(dut.issue_acks.p, ACK | {"access": access})
        ctx.set(dut.issue_acks.valid, 1)
        assert ctx.get(dut.issue_acks.ready)
        await ctx.tick()
        ctx.set(dut.issue_acks.valid, 0)

    async def bench(ctx):
        ctx.set(dut.memory_owes, 1)
        ctx.set(dut.returns.valid, 1)
        for cycle in range(OWED_CYCLES):
            ctx.set(dut.returns.p.slot, cycle % TIMING.egress_slots)
            await acknowledge(ctx, (Access.UPDATE, Access.WRITE)[cycle % 2])
            assert not ctx.get(dut.tile_issue_acks.valid) and not ctx.get(dut.stored)
            assert not ctx.get(dut.drained) and not ctx.get(dut.idle)
            assert not ctx.get(dut.link_out.valid)
        ctx.set(dut.returns.valid, 0)
        ctx.set(dut.memory_owes, 0)
        await ctx.tick()
        assert ctx.get(dut.drained) == ctx.get(dut.idle) == 0b11
        # Later debts of the memory change nothing.
        ctx.set(dut.memory_owes, 1)
        await acknowledge(ctx, Access.UPDATE)
        assert ctx.get(dut.tile_issue_acks.valid) and ctx.get(dut.drained) == 0b11
        await acknowledge(ctx, Access.WRITE)
        await ctx.tick()
        assert ctx.get(dut.stored) == 1

    simulate(dut, bench)
