"""22: a context passes to another tenant by the driver's calls (abort, assign, accept, region 0, lock): region 1 of the former
tenant stays, and the new tenant's copy reads it."""
from common import *
K = KERNELS[0]; t = Traffic(22)
async def bench(ctx, dut):
    await launch(ctx, dut, [*K.registers], 0)
    print("former tenant's region 1:", await region(ctx, dut, 0, 6144, 6400, index=1))
    await abort(ctx, dut)
    await program(ctx, dut, [("ADDRESS_SPACE", {"local": 7, "remote": 7, "enable": 1}), ("WAYS", {"mask": 3}), ("EPOCH_RESET", {"restart": 1})])
    print("new region 0:", await region(ctx, dut, 0, 2048, 2304))
    u = dict(privileged=False)
    for n, f in (("COMMAND_TRANSFER", {"kind": PacketKind.STORE.value}), ("COMMAND_OUTER", {"outer_extent": 1}), ("COMMAND_INNER", {"inner_extent": 8}), ("COMMAND_STRIDE", {"stride": 8, "region": 1}), ("COMMAND_COMMIT", {"index": 0}), ("COPY_START_LO", {"bytes": 6144*32}), ("COPY", {"command": 0})):
        print(n, (await refused(ctx, dut, n, f, **u)).name, end="; ")
    await ctx.tick().repeat(80)
    print("\nreads in former tenant's buffer", sum(n for m in t.memories for (a,o,x), n in m.seen.items() if a == Access.READ and 6144 <= x < 6400), "sent", [s[2:4] for c in t.sent for s in c][:3], await status(ctx, dut, "ERRORS"))
simulate(bench, TWO, background=t)
