"""18: AXI-Lite misuse."""
from common import *
K = KERNELS[0]
def addr(n, c=0): return MAP[n].address_in(c)
async def bench(ctx, dut):
    await launch(ctx, dut, [*K.registers], 0)
    st = lambda: status(ctx, dut, "STATUS")
    for strobes in (1, 2, 4, 8, 7, 14, 0):
        o = await outcome(ctx, dut, addr("CONTROL"), MAP["CONTROL"].pack(abort=1), strobes)
        assert o == ConfigurationError.NOT_WRITABLE, o
    assert (await st())["running"]
    print("EPOCH_RESET running", await refused(ctx, dut, "EPOCH_RESET", {"restart": 1}))
    print("launch+abort", await refused(ctx, dut, "CONTROL", {"launch": 1, "abort": 1}), (await st())["running"])
    for a in (1, 2, 3): print("unaligned", await outcome(ctx, dut, addr("CONTROL") + a, MAP["CONTROL"].pack(abort=1)), end=" ")
    print((await st())["running"])
    print("read write-only", await read(ctx, dut, addr("CONTROL")), "read of none", await read(ctx, dut, 0x3FFC), "write to page 9", await write(ctx, dut, 0x9000, 1))
    for n, f in (("INJECT", {"target": 1}), ("SCRUB_INTERVAL", {"cycles": 3}), ("GPU_LOCK", {"gpu": 0}), ("GPU_NUMBER", {"gpu": 3}), ("ARBITER", {"policy": 1}), ("GPU_CONTROL", {"clear_error": 1}), ("LOCK", {"regions": 0}), ("WAYS", {"mask": 15}), ("EPOCH_RESET", {"restart": 1}), ("REGION_BASE_LO", {"bytes": 0}), ("REGION_COMMIT", {"index": 0})):
        assert await refused(ctx, dut, n, f, privileged=False) == ConfigurationError.LOCKED, n
    # AW privileged with prot of another: AW (unprivileged) waits, W comes later with awprot already 1 on the wires
    ctx.set(dut.bus.awaddr, addr("WAYS")); ctx.set(dut.bus.awprot, 0); ctx.set(dut.bus.awvalid, 1); await ctx.tick()
    ctx.set(dut.bus.awprot, 1); ctx.set(dut.bus.awaddr, addr("TIMEOUT")); await ctx.tick().repeat(2); ctx.set(dut.bus.awvalid, 0)
    ctx.set(dut.bus.wdata, 15); ctx.set(dut.bus.wstrb, 15); ctx.set(dut.bus.wvalid, 1); await ctx.tick(); ctx.set(dut.bus.wvalid, 0)
    await ctx.tick().repeat(2)
    # stalled response: a second write (abort) must wait
    start_write(ctx, dut, addr("CONTROL"), MAP["CONTROL"].pack(abort=1)); await ctx.tick().repeat(3)
    ctx.set(dut.bus.awvalid, 0); ctx.set(dut.bus.wvalid, 0); await ctx.tick().repeat(20)
    print("WAYS", await status(ctx, dut, "WAYS"), "running while B stalls:", (await st())["running"])
    ctx.set(dut.bus.bready, 1); await ctx.tick().repeat(6); ctx.set(dut.bus.bready, 0)
    print("after:", await st())
    # abort k cycles behind launch
    bad = []
    for k in range(0, 9):
        await settle(ctx, dut)
        await program(ctx, dut, [("TRACKING", {"updates_per_atom": 2, "generation": (k + 1) % 16})])
        ctx.set(dut.bus.bready, 1)
        start_write(ctx, dut, addr("CONTROL"), MAP["CONTROL"].pack(launch=1)); await ctx.tick()
        if k:
            ctx.set(dut.bus.awvalid, 0); ctx.set(dut.bus.wvalid, 0); await ctx.tick().repeat(k)
        start_write(ctx, dut, addr("CONTROL"), MAP["CONTROL"].pack(abort=1))
        await ctx.tick().until(dut.bus.awready & dut.bus.wready)
        ctx.set(dut.bus.awvalid, 0); ctx.set(dut.bus.wvalid, 0); await ctx.tick().repeat(4); ctx.set(dut.bus.bready, 0)
        await settle(ctx, dut)
        s = await st()
        if s["running"] or s["pending"] or not s["aborted"] or s["done"] or not s["idle"]: bad.append((k, s))
    print("abort behind launch: bad", bad, await status(ctx, dut, "LAUNCHES"))
simulate(bench, TWO)
