"""13: A's trigger unit releases a group of 2^g workgroups; B's complete tiles wait behind A's in the merge of the tracker."""
from common import *
G = 5
PP = replace(TWO, sets=128, banks=2, credit_window=64, command_depth=64, regions=1, ranges=3, commands=1, with_data=False)
A, B = KERNELS
from rtl.top import T3
mem = {}
def bg(K=None):
    async def run(ctx, dut):
        ms = [Memory(p, 2) for p in dut.channel]; c = 0
        while True:
            for m in ms: m.drive(ctx, c)
            for p in dut.channel: ctx.set(p.link_out.ready, 1)
            await ctx.tick(); c += 1
    return run
def prog(k, count, group, window):
    return [("ADDRESS_SPACE", {"local": k.local, "remote": k.remote, "enable": 1}), ("TRACKING", {"updates_per_atom": 1, "generation": 0}),
        ("WORKGROUPS", {"count": count}), ("TRACKED_END", {"dispatch_index": count}), ("CREDIT_WINDOW", {"workgroups": window}), ("COMMAND_WINDOW", {"workgroups": 64}),
        ("REGION_BASE_LO", {"bytes": k.region*32}), ("REGION_LIMIT_LO", {"bytes": (k.region+512)*32}), ("REGION_COMMIT", {"index": 0, "enable": 1}),
        ("COMMAND_TRANSFER", {"kind": 1, "op": 0, "dtype": 0, "granularity": 1, "group_log2": group, "wave_inner_log2": 0}), ("COMMAND_OUTER", {"outer_extent": 0}), ("COMMAND_INNER", {"inner_extent": 0}),
        ("COMMAND_STRIDE", {"stride": 1, "region": 0}), ("COMMAND_WAVES", {"wave_outer_extent": 1, "waves0": 1}), ("COMMAND_COMMIT", {"index": 0}),
        ("RANGE_DISPATCH_INDICES", {"first": 0, "last": count - 1}), ("RANGE_ACTION", {"region": 0, "action": 2, "command": 0}), ("RANGE_COMMIT", {"index": 0, "enable": 1}), ("CONTROL", {"launch": 1})]
async def bench(ctx, dut):
    for k, n, g, w in ((A, 64, G, 33), (B, 8, 0, 8)):
        await settle(ctx, dut, k.number); await program(ctx, dut, prog(k, n, g, w), k.number); await begun(ctx, dut, k.number)
        ctx.set(dut.context[k.number].credit_limit_in, 0 if k is A else 100)
    def items(k, i):
        a = k.region + i
        s = {"atom": a, "context": k.local, "workgroup": i, "wavefront": 0, "tile_atoms": 1, "generation": 0}
        return a, [s | {"kind": StoreKind.STORE}, s | {"kind": StoreKind.END_OF_TILE}]
    async def tile(k, i):
        a, both = items(k, i)
        for s in both: await offer(ctx, s=(dut.channel[channel_number(a)].stores, s))
    async def measure(i):
        before = ctx.get(dut.context[1].tiles); await tile(B, i)
        for c in range(200):
            if ctx.get(dut.context[1].tiles) > before: return c
            await ctx.tick()
    print("B alone:", await measure(0), await measure(1))
    for i in range((1 << G) - 1): await tile(A, i)
    await ctx.tick().repeat(120)
    print("A tiles", ctx.get(dut.context[0].tiles))
    await tile(A, 31)            # completes the group
    for i in (32, 33, 34, 35): await tile(A, i)   # their completions wait at the merge
    print("B behind A's release of", 1 << G, ":", await measure(2), await measure(3))
simulate(bench, PP, background=bg())
