"""05: privileged software gives two of A's ways to B while A's tiles are in them. Masks are disjoint and B's launch is accepted,
yet B gets SET_FULL."""
from common import *
A, B = KERNELS
t = Traffic(5)
class Half(Kernel):
    """One update for each tile, no marker: entries stay."""
    def stores(self):
        for w in self.order[1:]:
            for wf in range(2):
                yield self.store(atoms_of(w, self.region)[wf*WAVE][0], w, wf)
    def packets(self): return []
async def bench(ctx, dut):
    a = Half(**(vars(A) | {"ways": 0b1111}))
    # a uses all ways, wide window: 4 workgroups x 2 wavefronts: sets 8 -> make all in few sets by waves
    await settle(ctx, dut, 1)
    W = {"wave_outer_extent": ROWS, "waves0": 4}
    await launch(ctx, dut, [*a.registers, ("COMMAND_WAVES", W), ("COMMAND_COMMIT", {"index": 0})], 0)
    ctx.set(dut.context[0].credit_limit_in, 100)
    for w in a.order[1:]:
        for wf in range(4):
            at = atoms_of(w, a.region)[wf % 2 * WAVE][0]
            await offer(ctx, s=(dut.channel[channel_number(at)].stores, a.store(at, w, wf)))
            await ctx.tick().repeat(2)
    await ctx.tick().repeat(40)
    print("A", await status(ctx, dut, "ERRORS", 0))
    print("A keeps 2 ways:", await refused(ctx, dut, "WAYS", {"mask": 0b0101}, 0))
    await begin(ctx, dut, t, B)
    await ctx.tick().repeat(600)
    print("B", await status(ctx, dut, "STATUS", 1), "SET_FULL", (await status(ctx, dut, "COUNT_SET_FULL", 1))["count"], "tiles", ctx.get(dut.context[1].tiles))
simulate(bench, TWO, background=t)
