"""17: a GPU that the context does not accept sends one packet in the running launch: the launch ends well, but the driver's wait
raises ReportedError and the page says to abort it on all GPUs."""
from common import *
t = Traffic(17); K = KERNELS[0]
import driver.python.context as dc
async def bench(ctx, dut):
    await launch(ctx, dut, [*K.registers, ("INBOUND_UPDATES", {"sources": 1}), ("INBOUND_STORES", {"sources": 1})], 0)
    ctx.set(dut.context[0].credit_limit_in, 100)
    atom = atoms_of(K.order[1], K.region)[3][0]
    for n in range(40):
        await offer(ctx, p=(dut.channel[n % 2].link_in, K.packet(K.region + 8*n % 256, 1, 0) | {"source": 9}))
    t.add(K); await finish(ctx, dut, K)
    print("done", ctx.get(dut.context[0].done), "complete", t.accesses(K) == K.accesses(), "STATUS", await status(ctx, dut, "STATUS"), "log", await status(ctx, dut, "ERROR"), (await status(ctx, dut, "ERROR_LOCATION"))["errors"], "irq", ctx.get(dut.context[0].irq))
simulate(bench, TWO, background=t)
