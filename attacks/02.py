"""02: launch 1 is done with its region; its packets wait for the link. The next launch begins without the
region (which therefore is free, as the page says); B gets it and updates it; the DMA reads of launch 1 and
a copy then read B's data and send it to A's neighbour."""
from common import *
A, B = 0, 1
FIRST, SECOND = KERNELS
import sys
COPY = len(sys.argv) > 1   # with a copy, or only with the segments of the launch itself
t = Traffic(2)

async def bench(ctx, dut):
    await settle(ctx, dut, B)
    big = dict(PROGRAM)["COMMAND_INNER"]
    await launch(ctx, dut, [*FIRST.registers, ("TIMEOUT", {"ticks": 0})], A)
    ctx.set(dut.context[A].generation_in, 0); ctx.set(dut.context[A].credit_limit_in, 100)
    for port in dut.channel: ctx.set(port.link_space, 0b10)
    t.add(FIRST)
    ctx.set(dut.context[A].finished, 4); ctx.set(dut.context[A].kernel_generation, 0)
    for _ in range(600):
        await ctx.tick()
        if ctx.get(dut.context[A].done): break
    await ctx.tick().repeat(60)
    print("A", await status(ctx, dut, "STATUS", A))
    if COPY:
        for n in range(3):
            print("copy", await refused(ctx, dut, "COPY_START_LO", {"bytes": (FIRST.region+32*n)*32}, A), await refused(ctx, dut, "COPY", {"command": 0}, A))
            await ctx.tick().repeat(40)
    # A's privileged software moves the region; A's next launch begins without it
    await program(ctx, dut, [("REGION_BASE_LO", {"bytes": 6144*32}), ("REGION_LIMIT_LO", {"bytes": (6144+256)*32})], A)
    print("move", await refused(ctx, dut, "REGION_COMMIT", {"index": 0, "enable": 1}, A))
    print("B before A's next launch:", await region(ctx, dut, B, FIRST.region, FIRST.region+256))
    await program(ctx, dut, [("TRACKING", {"updates_per_atom": 2, "generation": 1})], A)
    print("launch", await refused(ctx, dut, "CONTROL", {"launch": 1}, A))
    await ctx.tick().repeat(100)
    print("A", await status(ctx, dut, "STATUS", A))
    print("B gets the region:", await region(ctx, dut, B, FIRST.region, FIRST.region+256))
    before = t.accesses(FIRST)
    for port in dut.channel: ctx.set(port.link_space, 3)
    sent0 = sum(map(len, t.sent))
    await ctx.tick().repeat(500)
    new = t.accesses(FIRST) - before
    print("DMA reads by A in B's region afterwards:", sum(n for (a,o,_),n in new.items() if a==Access.READ), "packets sent", sum(map(len, t.sent))-sent0)
    print("errors", await status(ctx, dut, "ERRORS", A), await status(ctx, dut, "ERRORS", B))
simulate(bench, TWO, background=t)
