"""19: EPOCH_RESET is accepted after `done` while the context's packets and updates are not yet out (idle 0)."""
from common import *
t = Traffic(19); K = KERNELS[0]
async def bench(ctx, dut):
    await launch(ctx, dut, [*K.registers], 0)
    ctx.set(dut.context[0].credit_limit_in, 100)
    for p in dut.channel: ctx.set(p.link_space, 0)
    t.add(K)
    for _ in range(500):
        await ctx.tick()
        if ctx.get(dut.context[0].done): break
    print("idle", ctx.get(dut.context[0].idle), "EPOCH_RESET:", await refused(ctx, dut, "EPOCH_RESET", {"restart": 1}), await status(ctx, dut, "EPOCHS"))
simulate(bench, TWO, background=t)
