"""04: the downstream GPU shows limit 0 (it was reset) while this context makes more than seven launches; then it begins
its first launch, of any generation that now looks 'ahead': everything is admitted."""
from common import *
t = Traffic(4); K = KERNELS[0]
async def bench(ctx, dut):
    p = dut.context[0]
    await launch(ctx, dut, [*K.registers], 0)
    ctx.set(p.credit_limit_in, 0); ctx.set(p.generation_in, 0)
    for g in range(1, 12):     # aborted and tried again, as the page says for errors
        await abort(ctx, dut)
        await program(ctx, dut, [("TRACKING", {"updates_per_atom": 2, "generation": g}), ("CONTROL", {"launch": 1})])
        await begun(ctx, dut)
    k = replace(K, generation=11)
    t.add(k)
    await ctx.tick().repeat(100)
    print("limit 0:  dispatch_limit", ctx.get(p.dispatch_limit), "sent", sum(map(len, t.sent)))
    # The downstream GPU starts its generation 1 or 2 (its software is ten launches late), and admits one workgroup.
    ctx.set(p.generation_in, 2); ctx.set(p.credit_limit_in, 1)
    await ctx.tick().repeat(200)
    print("downstream at generation 2 of 11: dispatch_limit", ctx.get(p.dispatch_limit), "credit", ctx.get(p.credit_limit_out), "sent", sum(map(len, t.sent)))
    print(await status(ctx, dut, "STATUS"), "ERRORS", await status(ctx, dut, "ERRORS"))
    # control: limit shown before the launch
simulate(bench, TWO, background=t)
