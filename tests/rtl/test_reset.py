"""Reset of T3 alone in mid-run: the memory still has its requests, and answers them."""

from dataclasses import replace

import pytest
from amaranth.hdl import Module, ResetInserter, Signal

from rtl.top import T3
from tests.support.context_traffic import KERNELS, MOST_CYCLES, TWO, Traffic
from tests.support.simulation import simulate
from tests.support.top_bench import (
    Memory,
    admit,
    announce,
    launch,
    status,
)

CONTEXT = 1
FIRST = replace(KERNELS[CONTEXT], generation=3)
SECOND = replace(FIRST, region=6144, offset=512, first=3, generation=4)
LATENCY = 150  # cycles: longer than a reset takes


class Slow(Traffic):
    """Traffic with a slow memory, which a reset of T3 does not reach."""

    def forget(self, kernel):
        """Remove a kernel, and what is offered."""
        self.drop(kernel)
        self._offered.clear()

    async def __call__(self, ctx, dut):
        self.memories = [Memory(port, LATENCY) for port in dut.channel]
        await self.run(ctx, dut)


@pytest.mark.parametrize("cycles", [60, 170, 330])
def test_reset_in_mid_run(cycles):
    """After a reset during a launch no launch begins before the memory owes nothing; then the next
    one updates and sends all that is its own, and nothing else."""
    dut, rst, m = T3(TWO), Signal(), Module()
    m.submodules.dut = ResetInserter(rst)(dut)
    traffic = Slow(cycles)

    async def bench(ctx):
        ctx.set(dut.tick, 1)
        for port in dut.channel:
            ctx.set(port.link_space, 3)
        port = dut.context[CONTEXT]
        await launch(ctx, dut, FIRST.registers, CONTEXT)
        admit(ctx, port, 100)
        announce(ctx, port, FIRST.generation)
        traffic.add(FIRST)
        await ctx.tick().repeat(cycles)
        owed = sum(len(memory.waiting) for memory in traffic.memories)
        assert owed, "the reset must come while the memory owes something"
        traffic.forget(FIRST)
        ctx.set(rst, 1)
        await ctx.tick()
        ctx.set(rst, 0)
        sent = traffic.sends(FIRST)
        admit(ctx, port, 0)
        await launch(ctx, dut, SECOND.registers, CONTEXT)
        assert not any(memory.owes for memory in traffic.memories)
        announce(ctx, port, SECOND.generation)
        admit(ctx, port, 100)
        traffic.add(SECOND)
        for _ in range(4 * MOST_CYCLES):
            await ctx.tick()
            if ctx.get(port.done) and ctx.get(port.idle):
                break
        assert traffic.accesses(SECOND) == SECOND.accesses()
        assert traffic.sends(SECOND) - sent == SECOND.sends()
        assert await status(ctx, dut, "ERRORS", CONTEXT) == {"count": 0}
        assert (await status(ctx, dut, "TILES", CONTEXT))["count"] == 6

    simulate(m, bench, background=lambda ctx: traffic(ctx, dut))
