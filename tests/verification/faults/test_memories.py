"""Memories found in Verilog, and the C++ that reaches them."""

from amaranth.back import verilog
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.protected_memory import ProtectedMemory
from verification.faults.memories import Memory, find_memories, memories_header


class Pair(wiring.Component):
    """Two protected memories, one inside the other's module."""

    def __init__(self):
        super().__init__({"i": In(5), "o": Out(5)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.component = component = Module()
        component.submodules.rows_1 = first = ProtectedMemory(5, depth=4)
        component.submodules.rows_0 = second = ProtectedMemory(9, depth=2)
        component.d.comb += [
            first.write.eq(1),
            first.i.eq(self.i),
            first.read.eq(1),
            second.write.eq(1),
            second.i.eq(first.o),
            second.read.eq(1),
            self.o.eq(second.o),
        ]
        return m


def test_memories_with_their_widths_and_rows_in_the_order_of_their_names():
    top = Pair()
    text = verilog.convert(top, name="t3", ports=[top.i, top.o], emit_src=False)
    # A Hsiao code has 5 check bits for 5 bits, and for 9.
    assert find_memories(text) == [Memory("rows_0.words", 14, 2), Memory("rows_1.words", 10, 4)]


def test_likes_follow_each_other():
    memory = "module \\t3.component.{}.{} (clk);\n  reg [7:0] words [3:0];\nendmodule\n"
    places = [("b", "x_0"), ("a_1", "x"), ("b", "y"), ("a_0", "x"), ("b", "x_1")]
    found = find_memories("".join(memory.format(*place) for place in places))
    assert [one.path for one in found] == [
        *("a_0.x.words", "a_1.x.words"),
        *("b.x_0.words", "b.x_1.words", "b.y.words"),
    ]
    assert found[0].bits == 32


def test_characters_that_cpp_does_not_have():
    header = memories_header([Memory("table$59.words", 8, 4)])
    assert "root.t3__DOT__component__DOT__table__02459__DOT__words" in header
