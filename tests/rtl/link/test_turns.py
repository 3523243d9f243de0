"""Turns of channels at the wires: frame by frame."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.sim import Simulator

from rtl.link.layouts import FRAME_ATOMS
from rtl.link.turns import FrameMerge

SHAPE = data.StructLayout({"number": 16, "first": 1})


@pytest.mark.parametrize("inputs", [1, 2, 3, 8])
def test_frames_stay_together(inputs):
    """All flits leave, each input's in order, frame by frame. An input waits for at most one frame
    of each other input."""
    seed = 20 + inputs
    print("seed", seed)
    rng = random.Random(seed)
    dut = FrameMerge(SHAPE, inputs)
    sent, left = [[] for _ in range(inputs)], []

    async def bench(ctx):
        rest, offers, waits = [0] * inputs, [None] * inputs, [0] * inputs
        for _ in range(3000):
            ready = rng.random() < 0.8
            ctx.set(dut.o.ready, ready)
            for number, port in enumerate(dut.i):
                # A frame may end at any time, but it has no pauses.
                if offers[number] is None and rest[number]:
                    offers[number], rest[number] = 0, rest[number] - 1
                elif offers[number] is None and rng.random() < 0.4:
                    offers[number], rest[number] = 1, rng.randrange(FRAME_ATOMS)
                ctx.set(port.valid, offers[number] is not None)
                shown = {"number": len(sent[number]), "first": offers[number] or 0}
                ctx.set(port.p, shown)
            assert ctx.get(dut.o.valid) == any(offer is not None for offer in offers)
            takers = [number for number, port in enumerate(dut.i) if ctx.get(port.ready)]
            for number, port in enumerate(dut.i):
                waits[number] += ready and offers[number] is not None
                if ready and ctx.get(port.valid & port.ready):
                    assert [number] == [one for one in takers if offers[one] is not None]
                    shown = ctx.get(dut.o.p)
                    assert (shown.number, shown.first) == (len(sent[number]), offers[number])
                    left.append((number, offers[number]))
                    sent[number].append(offers[number])
                    assert waits[number] <= FRAME_ATOMS * (inputs - 1) + 1
                    offers[number], waits[number] = None, 0
            await ctx.tick()

    m = Module()
    m.submodules.dut = dut
    m.d.sync += Signal().eq(0)  # one input has no clock
    sim = Simulator(m)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
    for (before, _), (number, first) in zip(left, left[1:], strict=False):
        assert first or number == before
    assert min(map(len, sent)) > 3000 * 0.7 / inputs / 2
