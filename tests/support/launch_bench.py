"""Launches through the register port: a launch that is accepted, and the reason of a refusal."""

from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.port import Response
from tests.support.register_bus import outcome, read, write

__all__ = [
    "LAUNCH",
    "MAP",
    "NO_EPOCH",
    "P",
    "TO_PEER",
    "launch_error",
    "launches",
    "restart",
    "write_launch",
]

P = T3Parameters(contexts=1)
MAP = register_map.load()


NO_EPOCH = 256
LAUNCH = {
    "WORKGROUPS": {"count": 9},
    "TRACKED_END": {"dispatch_index": 9},
    "CREDIT_WINDOW": {"workgroups": 1},
    "COMMAND_WINDOW": {"workgroups": 1},
}
TO_PEER = {
    "PEER": {"sends_stores": 1, "sends_updates": 1},
    "PEER_COMMIT": {"index": 0, "enable": 1},
    "RANGE_PEERS": {"peers": 1},
}
"""Registers of a peer, and of ranges that send to it."""


async def restart(ctx, dut, context=0):
    """Restart the epochs, once the reset is over."""
    ctx.set(dut.context[context].drained, 1)
    ctx.set(dut.context[context].launch_drained, 1)
    await ctx.tick().until(~dut.context[context].aborting)
    scrub = MAP["EPOCH_RESET"]
    response = await write(ctx, dut, scrub.address_in(context), scrub.pack(restart=1))
    assert response == Response.OKAY.value


async def write_launch(ctx, dut, **registers):
    """Program a launch that is accepted, with further registers; the generation is the one behind
    the last launch's.
    """
    ctx.set(dut.context[0].drained, 1)  # so that the reset, or an abort, ends
    ctx.set(dut.context[0].launch_drained, 1)
    ctx.set(dut.context[0].idle, 1)  # so that peers may change, and ways be lost
    if (await read(ctx, dut, MAP["EPOCHS"].address))[0] == NO_EPOCH:
        await restart(ctx, dut)
    generation = (ctx.get(dut.context[0].launch_configuration.generation) + 1) % 16
    registers["TRACKING"] = {"generation": generation} | registers.get("TRACKING", {})
    for name, fields in (LAUNCH | registers).items():
        word = MAP[name].pack(**fields)
        assert await write(ctx, dut, MAP[name].address, word) == Response.OKAY.value


async def launch_error(ctx, dut):
    """Launch, and measure; return why the launch was refused."""
    word = MAP["CONTROL"].pack(launch=1, measure=1)
    return await outcome(ctx, dut, MAP["CONTROL"].address, word)


async def launches(ctx, dut):
    """Numbers of launches begun and done, and whether a launch waits."""
    word, _ = await read(ctx, dut, MAP["LAUNCHES"].address)
    counts = MAP["LAUNCHES"].unpack(word)
    word, _ = await read(ctx, dut, MAP["STATUS"].address)
    return counts["begun"], counts["done"], MAP["STATUS"].unpack(word)["pending"]
