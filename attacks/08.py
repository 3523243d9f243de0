"""08: late copies of launch g-1 overwrite sums of launch g in the same region: no error."""
from common import *
t = Traffic(8); K = KERNELS[0]
async def bench(ctx, dut):
    await begin(ctx, dut, t, K)
    await finish(ctx, dut, K)
    t.drop(K)
    ctx.set(dut.context[0].finished, 4)
    k = K.again
    await program(ctx, dut, [("TRACKING", {"updates_per_atom": 2, "generation": 1}), ("CONTROL", {"launch": 1})]); await begun(ctx, dut)
    ctx.set(dut.context[0].generation_in, 1)
    t.add(k)
    await ctx.tick().repeat(60)
    for m in t.memories: pass
    n0 = Counter({a: n for m in t.memories for a, n in m.seen.items()})
    for atom, wf in atoms_of(k.order[1], k.region)[:4]:
        await offer(ctx, p=(dut.channel[channel_number(atom)].link_in, K.packet(atom, 0, 0) | {"kind": PacketKind.STORE}))
        await ctx.tick().repeat(2)
    await finish(ctx, dut, k)
    w = {x: n for m in t.memories for (a,o,x), n in m.seen.items() if a == Access.WRITE and o == Origin.COMMUNICATION}
    print("plain writes of former generation into live tiles", w, "done", ctx.get(dut.context[0].done), await status(ctx, dut, "ERRORS"))
simulate(bench, TWO, background=t)
