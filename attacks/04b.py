"""04b: credit_limit_out of an aborted context stays at its old value: 'a GPU that was aborted admits nothing'."""
from common import *
t = Traffic(4); K = KERNELS[0]
async def bench(ctx, dut):
    p = dut.context[0]
    await launch(ctx, dut, [*K.registers], 0)
    ctx.set(p.credit_limit_in, 100)
    t.add(K)
    await ctx.tick().repeat(100)
    print("running: out", ctx.get(p.credit_limit_out), ctx.get(p.generation), ctx.get(p.aborted))
    t.drop(K)
    await abort(ctx, dut)
    await ctx.tick().repeat(50)
    print("aborted: out", ctx.get(p.credit_limit_out), ctx.get(p.dispatch_limit), ctx.get(p.generation), ctx.get(p.aborted), await status(ctx, dut, "CREDIT_LIMIT"))
simulate(bench, TWO, background=t)
