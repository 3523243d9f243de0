"""The blocks that a channel has besides its queues: arbiter, DMA lane and reduce unit."""

import pytest
from amaranth.sim import Simulator

from rtl.channel.channel import Channel
from rtl.interface.encodings import (
    Access,
    Datatype,
    Operation,
    Origin,
    PacketKind,
    Policy,
)
from rtl.interface.layouts import LinkPacket, NmcRequest, Segment
from tb.golden import peer
from tests.support.channel_bench import CONTEXTS, DATA, TIMING, packet, store, view


def test_occupancy_is_a_cycle_old():
    async def bench(ctx):
        config = {"policy": Policy.MCA, "threshold": 5, "starvation_limit": 0xFFFF}
        ctx.set(dut.arbiter, config)
        ctx.set(dut.active, 1)
        views = [view(tables, 0, 0) for tables in CONTEXTS]
        ctx.set(dut.contexts, dut.contexts.shape().const(views))
        ctx.set(dut.occupancy, 5)
        ctx.set(dut.link_in.p, packet(0, kind=PacketKind.STORE))
        ctx.set(dut.link_in.valid, 1)
        await ctx.tick()
        ctx.set(dut.link_in.valid, 0)
        for _ in range(10):
            assert not ctx.get(dut.dram.valid)
            await ctx.tick()
        ctx.set(dut.occupancy, 4)
        await ctx.tick()
        ctx.set(dut.occupancy, 5)
        assert not ctx.get(dut.dram.valid)
        await ctx.tick()
        assert ctx.get(dut.dram.valid)

    dut = Channel(TIMING)
    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


def test_held_up():
    """``held_up`` follows the occupancy of the previous cycle, from the highest cut on, while the
    link is empty."""

    async def bench(ctx):
        views = [view(tables, 0, 0) for tables in CONTEXTS]
        ctx.set(dut.contexts, dut.contexts.shape().const(views))
        for cut in (1, 40, 64, 127):
            ctx.set(dut.arbiter, {"policy": Policy.CRITICAL, "cuts": [0, 0, cut]})
            for occupancy in (cut - 1, cut, 127, 0):
                ctx.set(dut.occupancy, occupancy)
                await ctx.tick()
                ctx.set(dut.occupancy, 127 - occupancy)
                assert ctx.get(dut.held_up) == (occupancy >= cut)
        ctx.set(dut.occupancy, 127)
        ctx.set(dut.link_space, 3)
        ctx.set(dut.stores.p, store(0))
        ctx.set(dut.stores.valid, 1)
        await ctx.tick()
        ctx.set(dut.stores.valid, 0)
        assert ctx.get(dut.held_up)
        await ctx.tick().until(dut.link_out.valid)
        assert not ctx.get(dut.held_up)
        ctx.set(dut.link_out.ready, 1)
        await ctx.tick()
        assert ctx.get(dut.held_up)

    dut = Channel(TIMING)
    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("number", [0, 1])
def test_dma_atom_from_segment_to_link(number):
    """A read with its slot goes out on the communication stream, and its data on the link."""
    words = [11, 12, 13, 14]
    segment = {
        "atom": 4000,
        "length": 1,
        "offset": 9,
        "wave_inner_log2": 3,
        "wavefront": 2,
        "slot": 23,
        "peers": 0b10,
        "kind": PacketKind.UPDATE,
        "op": Operation.MAX,
        "dtype": Datatype.FP32,
        "atom_offset": 50,
    }

    async def bench(ctx):
        other = 2 >> number
        view = {"rank": 100, "peers": [{}, peer(gpu=77, space=6)]}
        views = [view if one == number else {} for one in range(2)]
        ctx.set(dut.contexts, dut.contexts.shape().const(views))
        await ctx.tick()  # no context is idle in the first cycle after the reset
        assert ctx.get(dut.idle) == ctx.get(dut.dma_idle) == 3
        segments = dut.segments[number]
        ctx.set(segments.p, Segment(DATA).const(segment))
        ctx.set(segments.valid, 1)
        ctx.set(dut.dram.ready, 1)
        ctx.set(dut.link_space, 1 << number)
        await ctx.tick()
        ctx.set(segments.valid, 0)
        assert ctx.get(dut.idle) == ctx.get(dut.dma_idle) == other
        (request,) = await ctx.tick().sample(dut.dram.p).until(dut.dram.valid)
        assert (request.access, request.origin) == (Access.READ, Origin.COMMUNICATION)
        assert (request.atom, request.tag) == (4000, number * DATA.egress_slots)
        ctx.set(dut.returns.p, {"slot": request.tag, "data": words})
        ctx.set(dut.returns.valid, 1)
        await ctx.tick()
        ctx.set(dut.returns.valid, 0)
        # In its slot, ahead of the link, in the queue to the link: it has not been sent.
        for _ in range(12):
            assert ctx.get(dut.idle) == ctx.get(dut.dma_idle) == other
            await ctx.tick()
        assert ctx.get(dut.link_out.valid) and ctx.get(dut.link_owner) == number
        ctx.set(dut.link_out.ready, 1)
        (sent,) = await ctx.tick().sample(dut.link_out.p).until(dut.link_out.valid)
        fields = {name: segment[name] for name in ("kind", "slot", "op", "dtype")}
        fields |= {"destination": 77, "source": 100, "context": 6}
        assert sent == LinkPacket(DATA).const(
            fields | {"atom": 4050, "wavefront": 3, "data": words}
        )
        assert ctx.get(dut.idle) == ctx.get(dut.dma_idle) == 3

    dut = Channel(DATA)
    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("accumulate", [0, 1])
def test_reduce_unit_is_there_with_payload(accumulate):
    own = {"epoch": 7, "accumulate": accumulate}

    async def bench(ctx):
        views = [{"launch_configuration": one} for one in ({"epoch": 6}, own)]
        ctx.set(dut.contexts, dut.contexts.shape().const(views))
        request = {"stored": [1, 2, 3, 4], "stored_epoch": 6, "operand": [5, 6, 7, 8], "owner": 1}
        ctx.set(dut.nmc_in.p, NmcRequest(DATA).const(request))
        ctx.set(dut.nmc_in.valid, 1)
        await ctx.tick()
        ctx.set(dut.nmc_in.valid, 0)
        (result,) = await ctx.tick().sample(dut.nmc_out.p).until(dut.nmc_out.valid)
        # The value of another epoch is replaced, unless the launch accumulates.
        sums = [6, 8, 10, 12]  # of subnormal numbers
        assert (list(result.value), result.epoch) == (sums if accumulate else [5, 6, 7, 8], 7)

    dut = Channel(DATA)
    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
