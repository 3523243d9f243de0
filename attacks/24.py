"""24: privileged software lets A share a part of B's buffer; from then on B, whose regions are open to it, cannot commit its own,
unchanged buffer again (as its driver does before each program)."""
from common import *
async def bench(ctx, dut):
    await settle(ctx, dut, 0); await settle(ctx, dut, 1)
    await program(ctx, dut, [("LOCK", {"regions": 0, "assignment": 1})], 1)
    print("B:", await region(ctx, dut, 1, 1024, 2048, privileged=False))
    print("A shares:", await region(ctx, dut, 0, 2000, 2100, share=1))
    print("B again:", await region(ctx, dut, 1, 1024, 2048, privileged=False))
simulate(bench, TWO)
