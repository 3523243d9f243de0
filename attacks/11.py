"""11: the tenant's own write between a privileged write and the read of STATUS hides a refusal, or invents one (driver reads STATUS after each write)."""
from common import *
async def bench(ctx, dut):
    await settle(ctx, dut, 0); await settle(ctx, dut, 1)
    await program(ctx, dut, [("ADDRESS_SPACE", {"local": 3, "remote": 5, "enable": 1})], 0)
    print("A region", await region(ctx, dut, 0, 1024, 2048))
    async def privileged(name, fields, tenant):
        await write(ctx, dut, MAP[name].address_in(1), MAP[name].pack(**fields))
        await write(ctx, dut, MAP[tenant[0]].address_in(1), MAP[tenant[0]].pack(**tenant[1]), privileged=False)
        return await refusal(ctx, dut, 2)
    good, bad = ("COMMAND_COMMIT", {"index": 0}), ("COMMAND_COMMIT", {"index": 200})
    print("assign A's space to B, tenant's good write:", await privileged("ADDRESS_SPACE", {"local": 3, "remote": 5, "enable": 1}, good), await status(ctx, dut, "ADDRESS_SPACE", 1))
    print("LOCK, tenant's bad write:", await privileged("LOCK", {"regions": 0, "assignment": 1}, bad), await status(ctx, dut, "LOCK", 1))
simulate(bench, TWO)
