"""14: A's link stands, and A's kernel ignores store_space (it is 'the producer'): B's stores stop, also after B's abort."""
from common import *
A, B = KERNELS
t = Traffic(14)
class R(Kernel):
    def stores(self):
        for _ in range(3):
            for atom, wf in atoms_of(self.order[0], self.region): yield self.store(atom, self.order[0], wf)
    def packets(self): return []
async def bench(ctx, dut):
    for k in (A, B):
        await launch(ctx, dut, [*k.registers], k.number); ctx.set(dut.context[k.number].credit_limit_in, 100)
    for port in dut.channel: ctx.set(port.link_space, 0b10)
    t.add(R(**vars(A)))
    await ctx.tick().repeat(80)
    print("store_space", [bin(ctx.get(p.store_space)) for p in dut.channel])
    t.add(B)
    await ctx.tick().repeat(400)
    print("B", await status(ctx, dut, "STATUS", 1), "tiles", ctx.get(dut.context[1].tiles), "errors", await status(ctx, dut, "ERRORS", 1), "stores ready", [ctx.get(p.stores.ready) for p in dut.channel])
    await program(ctx, dut, [("CONTROL", {"abort": 1})], 1)
    await ctx.tick().repeat(200)
    print("B aborted: aborting =", (await status(ctx, dut, "STATUS", 1))["aborting"])
simulate(bench, TWO, background=t)
