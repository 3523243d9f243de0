"""Stores for the link of a kernel that ignores ``store_space``: only its own context loses."""

import pytest

from rtl.interface.encodings import ErrorCode
from tests.support.context_traffic import EITHER, KERNELS, TWO, Kernel, Traffic, begin, finish
from tests.support.top_bench import abort, simulate, status


class Heedless(Kernel):
    """Kernel that stores the workgroup that leaves three times, and ignores ``store_space``."""

    def stores(self):
        for _ in range(3):
            for atom, wavefront in self.tile(0):
                yield self.store(atom, 0, wavefront)

    def packets(self):
        return []


@pytest.mark.parametrize("stopped", EITHER)
def test_only_the_context_without_space_loses_stores(stopped):
    """While the link has no space for the context, each store beyond its queue is dropped and
    reported; the other context finishes."""
    heedless, other = Heedless(**vars(KERNELS[stopped])), KERNELS[1 - stopped]
    traffic = Traffic(stopped)

    async def bench(ctx, dut):
        for port in dut.channel:
            ctx.set(port.link_space, 1 << other.number)
        await begin(ctx, dut, traffic, heedless, other)
        await finish(ctx, dut, other)
        assert traffic.accesses(other) == other.accesses()
        assert traffic.sends(other) == other.sends()
        await ctx.tick().repeat(100)  # the rest of the stores comes
        refused = (await status(ctx, dut, "ERRORS", heedless.number))["count"]
        error = await status(ctx, dut, "ERROR", heedless.number)
        assert error["code"] == ErrorCode.STORE_AHEAD.value
        assert (await status(ctx, dut, "ERRORS", other.number))["count"] == 0
        assert not traffic.sends(heedless)
        for port in dut.channel:
            ctx.set(port.link_space, 3)
        await ctx.tick().repeat(60)
        # What was not refused leaves. Refusals of one cycle count once.
        left = sum(traffic.sends(heedless).values())
        assert left == TWO.channels * TWO.remote_depth
        lost = len([*heedless.stores()]) - left
        assert lost / TWO.channels <= refused <= lost
        await abort(ctx, dut, heedless.number)

    simulate(bench, TWO, background=traffic)
