"""A compiled gated block is clocked exactly in the cycles of its clock enable."""

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.gating import clock_gated
from sysmodel.engine.native import Instance, build_component
from sysmodel.engine.ports import port_words
from tests.support.random_stimulus import run_simulator, steps


class Counting(wiring.Component):
    """Counts its clock edges, which breaks the promise of a gated block, to show its clock."""

    clock_enable: Out(1)
    run: In(1)
    o: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.o + 1)
        m.d.comb += self.clock_enable.eq(self.run)
        return m


class Pair(wiring.Component):
    """Two gated blocks: the first is clocked in the cycle after ``i``, the second in the others."""

    i: In(1)
    first: Out(8)
    second: Out(8)
    cycles: Out(8)

    def elaborate(self, platform):
        m = Module()
        was = Signal()
        m.d.sync += [was.eq(self.i), self.cycles.eq(self.cycles + 1)]
        for name, run in (("first", was), ("second", ~was)):
            block = Counting()
            m.submodules[name] = clock_gated(block)
            m.d.comb += [block.run.eq(run), getattr(self, name).eq(block.o)]
        return m


WORDS = list(port_words(Pair().signature))


@pytest.mark.parametrize("trace", [False, True])
def test_the_clock_stops(trace):
    inputs = np.array([[i] for i in (1, 0, 1, 1, 0, 0, 0, 1)], np.uint64)
    outputs = np.zeros((len(inputs) + 1, 3), np.uint64)
    library = build_component(Pair(), WORDS, 1, 3, trace=trace)
    with Instance(library, 1, 3) as instance:
        instance.reset(outputs[0])
        steps(instance.step_address, instance.handle, inputs, outputs[1:])
    was = np.concatenate([[0], inputs[:-1, 0]])
    assert outputs[1:, 0].tolist() == np.cumsum(was).tolist()
    assert outputs[1:, 1].tolist() == np.cumsum(1 - was).tolist()
    assert outputs[1:, 2].tolist() == list(range(1, len(inputs) + 1))


def test_without_gates_the_clock_runs():
    outputs = run_simulator(Pair(), WORDS, np.zeros((3, 1), np.uint64), 3)
    assert outputs.tolist() == [[n, n, n] for n in range(4)]
