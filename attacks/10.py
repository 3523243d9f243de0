"""10: LOCK.regions is open. Privileged software shares a buffer with tenant B (share=1); B replaces the staged base between
the privileged writes, and so gets a region over A's private memory."""
from common import *
A, B = 0, 1
async def bench(ctx, dut):
    await settle(ctx, dut, A); await settle(ctx, dut, B)
    print("A owns", await region(ctx, dut, A, 1024, 2048))
    await program(ctx, dut, [("LOCK", {"regions": 0, "assignment": 1})], B)
    print("B alone:", await region(ctx, dut, B, 1024, 2048, privileged=False), "with share:", await region(ctx, dut, B, 1024, 2048, privileged=False, share=1))
    # privileged: share 4096..4128 with B; three writes in order, B slips one in between
    await program(ctx, dut, [("REGION_BASE_LO", {"bytes": 4096*32}), ("REGION_BASE_HI", {"bytes": 0}), ("REGION_LIMIT_LO", {"bytes": 4128*32}), ("REGION_LIMIT_HI", {"bytes": 0})], B)
    print("B:", await refused(ctx, dut, "REGION_BASE_LO", {"bytes": 1024*32}, B, privileged=False))
    print("privileged commit:", await refused(ctx, dut, "REGION_COMMIT", {"index": 0, "enable": 1, "share": 1}, B, privileged=True))
    page = dut.registers.pages[B].table.maps.regions[0] if hasattr(dut, "registers") else None
    if page is not None: print("B's region:", ctx.get(page.base), ctx.get(page.limit), ctx.get(page.enable))
simulate(bench, TWO)
