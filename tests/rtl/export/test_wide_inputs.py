"""Export of modules with more input bits than the back end can number, and of deep expressions."""

import re
from functools import reduce
from operator import or_

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.channel.arbitration.arbiter import Arbiter
from rtl.export import wide_inputs
from rtl.export.hierarchy import Hierarchies
from rtl.export.verilog import readable_verilog
from rtl.parameters import T3Parameters


class Wide(wiring.Component):
    """Block that registers the exclusive-or of its inputs."""

    def __init__(self, width: int, inputs: int):
        super().__init__({"i": In(width).array(inputs), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i[0] ^ self.i[1] ^ self.i[2])
        return m


class Deep(wiring.Component):
    """Disjunction of many inputs, as a chain of operators."""

    def __init__(self, inputs: int):
        super().__init__({"i": In(1).array(inputs), "o": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(reduce(or_, self.i))
        return m


def verilog(component):
    return readable_verilog(Hierarchies().parts(component, "block"), "test")


@pytest.mark.verify  # the next test has the same path with few bits
def test_inputs_of_any_number_of_bits():
    text = verilog(Wide(30_000, 3))
    ports = re.findall(r"^  (input|output) .*?\b(clk|rst|[io](?:__\d)?)\b", text, re.MULTILINE)
    inputs = ["clk", "rst", "i__0", "i__1", "i__2"]
    assert ports == [*(("input", name) for name in inputs), ("output", "o")]
    assert wide_inputs._KIND not in text


def test_splitting_the_inputs_does_not_change_the_verilog(monkeypatch):
    p = T3Parameters(contexts=1)
    few = verilog(Arbiter(p))
    monkeypatch.setattr(wide_inputs, "_MOST_BITS", 100)
    assert verilog(Arbiter(p)) == few


@pytest.mark.verify  # the native build's test_builds_expressions_of_any_depth is in every run
def test_an_expression_of_any_depth():
    assert "input  wire i__999" in verilog(Deep(1000))
