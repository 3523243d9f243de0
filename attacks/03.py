"""03: while the link back is slow, tenant B of the downstream GPU flaps (launch, abort), which fills the 16 places for
words. Then tenant A aborts launch g and begins g+1: its words merge, so the upstream GPU never sees `aborted`."""
from common import *
from tests.support.ring_bench import simulate as ring_simulate, Work
from tb.link_endpoint.wire import Faults, CLEAN
FLAP = int(sys.argv[1]) if len(sys.argv) > 1 else 10; LAT = int(sys.argv[2]) if len(sys.argv) > 2 else 350

async def bench(ctx, ring):
    a, b = Work(number=0, generation=1), Work(number=0, generation=2)
    up, down = ring.gpus
    await settle(ctx, down.dut, 1)
    await ring.launch(ctx, 0, a)
    await ring.launch(ctx, 1, a)
    down.drop(0)               # its kernel hangs
    await ctx.tick().repeat(60)
    print("up dispatch_limit", ctx.get(up.dut.context[0].dispatch_limit), await status(ctx, up.dut, "STATUS"))
    back = [link[1] for link in ring.wires[0]]
    for wire in back: wire.faults = Faults(busy=1)
    await program(ctx, down.dut, [("CREDIT_WINDOW", {"workgroups": 1}), ("COMMAND_WINDOW", {"workgroups": 1}), ("WORKGROUPS", {"count": 1}), ("TRACKED_END", {"dispatch_index": 1})], 1)
    for n in range(FLAP):
        await program(ctx, down.dut, [("TRACKING", {"updates_per_atom": 1, "generation": n+1}), ("CONTROL", {"launch": 1})], 1)
        await begun(ctx, down.dut, 1)
        await ctx.tick().repeat(25)
        await program(ctx, down.dut, [("CONTROL", {"abort": 1})], 1)
        await settle(ctx, down.dut, 1)
        await ctx.tick().repeat(25)
    await program(ctx, down.dut, [("CONTROL", {"abort": 1})], 0)
    await settle(ctx, down.dut, 0)
    await ctx.tick().repeat(40)
    await program(ctx, down.dut, [("TRACKING", {"updates_per_atom": 2, "generation": 2}), ("CONTROL", {"launch": 1})], 0)
    await begun(ctx, down.dut, 0)
    for wire in back: wire.faults = CLEAN
    for c in range(800): await ctx.tick()
    print("up   ", await status(ctx, up.dut, "STATUS"), "dispatch_limit", ctx.get(up.dut.context[0].dispatch_limit), "generation_in", )
    print("down ", await status(ctx, down.dut, "STATUS"))
    print("up   PEER_ABORTED:", (await status(ctx, up.dut, "COUNT_PEER_ABORTED"))["count"], "ERRORS", await status(ctx, up.dut, "ERRORS"), "GPU", await status(ctx, up.dut, "GPU_ERRORS"), await status(ctx, up.dut, "INTERRUPTS"))
    print("down STALE:", (await status(ctx, down.dut, "COUNT_PACKET_STALE"))["count"], "GPU", await status(ctx, down.dut, "GPU_ERRORS"))
from tb.link_endpoint.dut import LINK
ring_simulate(bench, 5, link=replace(LINK, down_cycles=4096))
