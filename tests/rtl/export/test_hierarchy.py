"""Modules of an export are connected by their ports alone."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.export.hierarchy import Hierarchies


class Count(wiring.Component):
    """Counts by ``steps``; the total is not at its ports."""

    o: Out(4)

    def __init__(self, steps=None):
        super().__init__()
        self.steps = Signal(4, init=1) if steps is None else steps
        self.total = Signal(8)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += [self.o.eq(self.o + self.steps), self.total.eq(self.total + self.o)]
        return m


class Outside(wiring.Component):
    """Component that reaches its counter through ports only, reads an inner signal of the counter
    (``total``), or drives one (``steps``)."""

    i: In(4)
    o: Out(8)

    def __init__(self, does):
        super().__init__()
        self.does = does

    def elaborate(self, platform):
        m = Module()
        steps = Signal(4)
        m.submodules.count = count = Count(steps if self.does == "steps" else None)
        m.d.comb += [steps.eq(self.i), self.o.eq(count.total if self.does == "total" else count.o)]
        return m


def test_through_ports():
    (outside, count) = Hierarchies().parts(Outside("ports"), "outside")
    assert (outside.name, count.name) == ("outside", "outside__count")


@pytest.mark.parametrize(
    ("signal", "says"),
    [
        ("total", "Outside reads total of Count, which is not a port"),
        ("steps", "Count reads steps of Outside, which is not a port"),
    ],
)
def test_past_the_ports(signal, says):
    """A signal that passes the ports is refused: as a module of its own the block would read a
    constant."""
    with pytest.raises(ValueError, match=says):
        Hierarchies().parts(Outside(signal), "outside")
