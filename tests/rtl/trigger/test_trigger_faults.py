"""Workgroups in the error reports of the trigger unit's memories."""

from amaranth.sim import Simulator

from rtl.interface.encodings import Action, ErrorCode, Granularity
from rtl.parameters import T3Parameters
from rtl.trigger.trigger import Trigger

P = T3Parameters(
    contexts=1,
    workgroup_bits=6,
    sets=8,
    ways=2,
    wavefronts=4,
    credit_window=16,
    address_bits=20,
    tile_atom_bits=7,
)


def test_a_lost_group_names_its_workgroup_though_another_tile_follows_at_once():
    dut = Trigger(P)
    entry = {"enable": 1, "first": 0, "last": 15, "action": Action.DMA}
    command = {"granularity": Granularity.WORKGROUP, "group_log2": 1, "waves": [1] * 4}
    errors = []

    async def tiles(ctx, *completions):
        for dispatch_index, wavefront in completions:
            ctx.set(dut.completions.valid, 1)
            ctx.set(dut.completions.p, {"dispatch_index": dispatch_index, "wavefront": wavefront})
            while True:
                taken = ctx.get(dut.completions.ready)
                look(ctx)
                await ctx.tick()
                if taken:
                    break
        ctx.set(dut.completions.valid, 0)
        for _ in range(12):
            look(ctx)
            await ctx.tick()

    def look(ctx):
        if ctx.get(dut.error.valid):
            report = ctx.get(dut.error.report)
            errors.append((report.code, report.dispatch_index, report.wavefront))

    async def bench(ctx):
        ctx.set(dut.ready.ready, 1)
        ctx.set(dut.maps, {"ranges": [entry], "commands": [command]})
        while ctx.get(dut.clearing):
            await ctx.tick()
        await tiles(ctx, (6, 1))
        word = dut.groups.words.data[6]
        ctx.set(word, word.shape().from_bits(ctx.get(word).as_bits() ^ 0b11))
        await tiles(ctx, (7, 1), (12, 2))
        assert errors == [(ErrorCode.TRIGGER_CORRUPT, 7, 0)]

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
