"""Completions of both contexts leave the tracker through one merge: how long one waits for another
context's."""

from dataclasses import replace

from driver.python import DOWNSTREAM
from rtl.interface.encodings import Datatype, Granularity, Operation, PacketKind, StoreKind
from tests.support.context_traffic import KERNELS, TWO
from tests.support.top_bench import (
    Memory,
    admit,
    begun,
    channel_number,
    offer,
    program,
    settle,
    simulate,
    status,
)

GROUP_LOG2 = 5
GROUP = 1 << GROUP_LOG2
BEHIND = 6  # completions of the first context behind the one that completes its group
WIDE = replace(TWO, sets=128, banks=2, credit_window=128, command_depth=64)


async def sinks(ctx, dut):
    """Memories, and a link that takes every packet."""
    memories = [Memory(port) for port in dut.channel]
    cycle = 0
    while True:
        for memory, port in zip(memories, dut.channel, strict=True):
            memory.drive(ctx, cycle)
            ctx.set(port.link_out.ready, 1)
        await ctx.tick()
        cycle += 1


def settings(kernel, count, group_log2):
    """Return the registers of a launch whose workgroups have one tile of one atom."""
    transfer = {"kind": PacketKind.UPDATE.value, "op": Operation.SUM.value}
    transfer |= {"dtype": Datatype.FP16.value, "granularity": Granularity.WORKGROUP.value}
    return [
        ("ADDRESS_SPACE", {"local": kernel.local, "enable": 1}),
        ("TRACKING", {"generation": 0}),
        ("WORKGROUPS", {"count": count}),
        ("TRACKED_END", {"dispatch_index": count}),
        ("CREDIT_WINDOW", {"workgroups": count}),
        ("COMMAND_WINDOW", {"workgroups": WIDE.command_depth}),
        ("REGION_BASE_LO", {"bytes": kernel.region * 32}),
        ("REGION_LIMIT_LO", {"bytes": (kernel.region + 512) * 32}),
        ("REGION_COMMIT", {"index": 0, "enable": 1}),
        ("COMMAND_TRANSFER", transfer | {"group_log2": group_log2, "wave_inner_log2": 0}),
        ("COMMAND_OUTER", {"outer_extent": 0}),
        ("COMMAND_INNER", {"inner_extent": 0}),
        ("COMMAND_STRIDE", {"stride": 1, "region": 0}),
        ("COMMAND_WAVES", {"wave_outer_extent": 1, "waves0": 1}),
        ("COMMAND_COMMIT", {"index": 0}),
        ("RANGE_DISPATCH_INDICES", {"first": 0, "last": count - 1}),
        ("RANGE_ACTION", {"region": 0, "action": 2, "command": 0, "shares": 1}),
        ("RANGE_PEERS", {"peers": 1 << DOWNSTREAM}),
        ("RANGE_COMMIT", {"index": 0, "enable": 1}),
        ("CONTROL", {"launch": 1}),
    ]


def test_a_completion_waits_for_a_release_of_another_context():
    """It waits, and no longer than the release and the completions ahead of it take."""
    first, second = KERNELS

    async def bench(ctx, dut):
        for kernel, count, group_log2 in ((first, 48, GROUP_LOG2), (second, 8, 0)):
            await settle(ctx, dut, kernel.number)
            await program(ctx, dut, settings(kernel, count, group_log2), kernel.number)
            await begun(ctx, dut, kernel.number)
        # The first context's commands wait for the neighbour.
        admit(ctx, dut.context[first.number], 0)
        admit(ctx, dut.context[second.number], 100)

        async def tile(kernel, dispatch_index):
            atom = kernel.region + dispatch_index
            one = {"atom": atom, "context": kernel.local, "wavefront": 0}
            one["dispatch_index"] = dispatch_index
            for kind in (StoreKind.STORE, StoreKind.END_OF_TILE):
                port = dut.channel[channel_number(atom)].stores
                await offer(ctx, item=(port, one | {"kind": kind, "tile_atoms": 1, "shares": 1}))

        async def takes(dispatch_index):
            """Return the cycles until a tile of the second context is complete."""
            before = ctx.get(dut.context[1].tiles)
            await tile(second, dispatch_index)
            for cycle in range(200):
                if ctx.get(dut.context[1].tiles) > before:
                    return cycle
                await ctx.tick()
            raise AssertionError("the tile never completes")

        alone = await takes(0)
        for dispatch_index in range(GROUP - 1):
            await tile(first, dispatch_index)
        await ctx.tick().repeat(100)
        assert ctx.get(dut.context[0].tiles) == GROUP - 1
        for dispatch_index in range(GROUP - 1, GROUP + BEHIND):
            await tile(first, dispatch_index)
        waited = await takes(1) - alone
        print(f"{waited} cycles more than the {alone} of a tile alone")
        assert 0 < waited <= 3 + GROUP + 3 * BEHIND
        assert (await status(ctx, dut, "ERRORS", 0))["count"] == 0

    simulate(bench, WIDE, background=sinks)
