"""15: privileged software cannot take a region from a tenant that launches twice after each abort (IN_USE), or that keeps a
range on it (REGION_IN_USE): order of the page (abort, then remove)."""
from common import *
K = KERNELS[0]
async def bench(ctx, dut):
    await launch(ctx, dut, [*K.registers], 0)
    g = 0
    async def tenant():
        nonlocal g
        out = []
        for _ in range(2):
            g += 1
            out.append(await refused(ctx, dut, "TRACKING", {"updates_per_atom": 2, "generation": g % 16}, privileged=False))
            out.append(await refused(ctx, dut, "CONTROL", {"launch": 1}, privileged=False))
        return [o.name for o in out]
    for turn in range(3):
        await abort(ctx, dut)                      # driver: abort and wait for its end
        print("tenant:", await tenant())
        print("privileged range removal:", await refused(ctx, dut, "RANGE_COMMIT", {"index": 0, "enable": 0}), "region removal:", await refused(ctx, dut, "REGION_COMMIT", {"index": 0, "enable": 0}), "move:", await region_move(ctx, dut))
async def region_move(ctx, dut):
    await refused(ctx, dut, "REGION_BASE_LO", {"bytes": 6144*32}); await refused(ctx, dut, "REGION_LIMIT_LO", {"bytes": 6400*32})
    return await refused(ctx, dut, "REGION_COMMIT", {"index": 0, "enable": 1})
simulate(bench, TWO)
