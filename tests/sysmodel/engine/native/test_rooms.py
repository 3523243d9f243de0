"""A room that sleeps, compiled: its clock stops, and starts in the cycle in which it is awake."""

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.sleep import may_sleep
from sysmodel.engine.native import Instance, build_component
from sysmodel.engine.ports import port_words
from tests.support.random_lockstep import run_simulator, steps


class Counting(wiring.Component):
    """Counts cycles, whether it is awake or not: it breaks a room's promise, to show its clock."""

    awake: Out(1)
    wake: In(1)
    o: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.o + 1)
        m.d.comb += self.awake.eq(self.wake)
        return m


class House(wiring.Component):
    """Rooms that are awake in the cycle after ``i``, the second one's inverted."""

    i: In(1)
    first: Out(8)
    second: Out(8)
    cycles: Out(8)

    def elaborate(self, platform):
        m = Module()
        was = Signal()
        m.d.sync += [was.eq(self.i), self.cycles.eq(self.cycles + 1)]
        for name, wake in (("first", was), ("second", ~was)):
            room = Counting()
            m.submodules[name] = may_sleep(room, platform)
            m.d.comb += [room.wake.eq(wake), getattr(self, name).eq(room.o)]
        return m


WORDS = list(port_words(House().signature))


@pytest.mark.parametrize("trace", [False, True])
def test_the_clock_stops(trace):
    inputs = np.array([[i] for i in (1, 0, 1, 1, 0, 0, 0, 1)], np.uint64)
    outputs = np.zeros((len(inputs) + 1, 3), np.uint64)
    library = build_component(House(), WORDS, 1, 3, trace=trace)
    with Instance(library, 1, 3) as instance:
        instance.reset(outputs[0])
        steps(instance.step_address, instance.handle, inputs, outputs[1:])
    was = np.concatenate([[0], inputs[:-1, 0]])
    assert outputs[1:, 0].tolist() == np.cumsum(was).tolist()
    assert outputs[1:, 1].tolist() == np.cumsum(1 - was).tolist()
    assert outputs[1:, 2].tolist() == list(range(1, len(inputs) + 1))


def test_without_a_platform_nothing_sleeps():
    outputs = run_simulator(House(), WORDS, np.zeros((3, 1), np.uint64), 3)
    assert outputs.tolist() == [[n, n, n] for n in range(4)]
