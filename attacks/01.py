"""01: a copy that was accepted without a launch outlives its region; the region then belongs to B,
whose data it reads and sends to A's neighbour."""
from common import *

A, B = 0, 1
BASE = 1024

def copy(atom):
    return [("COPY_START_LO", {"bytes": atom * 32}), ("COPY_START_HI", {"bytes": 0}), ("COPY", {"command": 0})]

t = Traffic(1)
t.link_takes = False

async def bench(ctx, dut):
    await settle(ctx, dut, A); await settle(ctx, dut, B)
    for port in dut.channel: ctx.set(port.link_space, 0b10)   # A's link has no space
    await program(ctx, dut, [
        ("ADDRESS_SPACE", {"local": 3, "remote": 5, "enable": 1}),
        ("REGION_BASE_LO", {"bytes": BASE*32}), ("REGION_LIMIT_LO", {"bytes": (BASE+256)*32}), ("REGION_COMMIT", {"index": 0, "enable": 1}),
        ("COMMAND_TRANSFER", {"kind": PacketKind.STORE.value}), ("COMMAND_OUTER", {"outer_extent": 1}), ("COMMAND_INNER", {"inner_extent": 32}),
        ("COMMAND_STRIDE", {"stride": 32, "region": 0}), ("COMMAND_OFFSET_LO", {"bytes": 0}), ("COMMAND_COMMIT", {"index": 0})], A)
    for n in range(3):   # lanes full, then engine, then the queue of copies
        await program(ctx, dut, copy(BASE + 32*n), A)
        await ctx.tick().repeat(60)
    print("A: status", await status(ctx, dut, "STATUS", A))
    # privileged software takes the region back; nothing is refused
    print("remove", await refused(ctx, dut, "REGION_COMMIT", {"index": 0, "enable": 0}, A))
    print("ADDRESS_SPACE off", await refused(ctx, dut, "ADDRESS_SPACE", {"local": 3, "remote": 5, "enable": 0}, A))
    print("B takes it", await region(ctx, dut, B, BASE, BASE + 256))
    before = sum(t.accesses(KERNELS[0]).values())
    for port in dut.channel: ctx.set(port.link_space, 3)
    t.link_takes = True
    await ctx.tick().repeat(400)
    acc = t.accesses(KERNELS[0])
    print("DMA reads in B's region after B got it:", sum(acc.values()) - before, "packets of A to space 5:", len([1 for c in t.sent for s in c if s[2] == 5]))
    print("errors A", await status(ctx, dut, "ERRORS", A), "B", await status(ctx, dut, "ERRORS", B))

simulate(bench, TWO, background=t)
