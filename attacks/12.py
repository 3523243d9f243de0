"""12: one write of the longest SCRUB_INTERVAL stops the scrubber for 2^32 cycles; a shorter interval does not apply before."""
from common import *
async def bench(ctx, dut):
    await program(ctx, dut, [("GPU_LOCK", {"gpu": 1})])
    print("unprivileged, locked:", await refused(ctx, dut, "SCRUB_INTERVAL", {"cycles": 5}, privileged=False))
    await program(ctx, dut, [("SCRUB_INTERVAL", {"cycles": 8})])
    n = 0
    async def count(c):
        n = 0
        for _ in range(c):
            await ctx.tick(); n += ctx.get(dut.registers.scrub)
        return n
    print("strobes with 8:", await count(100))
    await program(ctx, dut, [("SCRUB_INTERVAL", {"cycles": 0xFFFF})])
    await ctx.tick().repeat(20)
    await program(ctx, dut, [("SCRUB_INTERVAL", {"cycles": 0})])
    await program(ctx, dut, [("SCRUB_INTERVAL", {"cycles": 8})])
    print("strobes with 8 after the longest one:", await count(300))
simulate(bench, TWO)
