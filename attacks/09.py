"""09: the kernel of launch 1 never 'finishes' (a hung workgroup whose tiles are not tracked here); launch 2 waits for ever. TIMEOUT is set."""
from common import *
t = Traffic(9); K = KERNELS[0]
async def bench(ctx, dut):
    await launch(ctx, dut, [*K.registers, ("TIMEOUT", {"ticks": 20})], 0)
    ctx.set(dut.context[0].credit_limit_in, 100)
    t.add(K)
    ctx.set(dut.context[0].finished, 3)
    for _ in range(600):
        await ctx.tick()
        if ctx.get(dut.context[0].done) and ctx.get(dut.context[0].idle): break
    before = (await status(ctx, dut, "COUNT_TIMEOUT"))["count"]
    await program(ctx, dut, [("TRACKING", {"updates_per_atom": 2, "generation": 1}), ("CONTROL", {"launch": 1})])
    await ctx.tick().repeat(700)
    print(await status(ctx, dut, "STATUS"), "TIMEOUT", (await status(ctx, dut, "COUNT_TIMEOUT"))["count"], "before:", before)
    print("region commit meanwhile:", await refused(ctx, dut, "REGION_COMMIT", {"index": 1, "enable": 1}))
simulate(bench, TWO, background=t)
