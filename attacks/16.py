"""16: ADDRESS_SPACE.remote is not checked: context 1 (assignment open, or by mistake) sends into context 0's space at the neighbour."""
from common import *
A, B = KERNELS
t = Traffic(16)
async def bench(ctx, dut):
    await settle(ctx, dut, 0); await settle(ctx, dut, 1)
    await program(ctx, dut, [("ADDRESS_SPACE", {"local": A.local, "remote": A.remote, "enable": 1})], 0)
    await program(ctx, dut, [("LOCK", {"regions": 1, "assignment": 0})], 1)
    print("B names A's remote space:", await refused(ctx, dut, "ADDRESS_SPACE", {"local": B.local, "remote": A.remote, "enable": 1}, 1, privileged=False))
    print("B names A's local space:", await refused(ctx, dut, "ADDRESS_SPACE", {"local": A.local, "remote": A.remote, "enable": 1}, 1, privileged=False))
    print("B takes all ways:", await refused(ctx, dut, "WAYS", {"mask": 0b1111}, 1, privileged=False))
simulate(bench, TWO)
