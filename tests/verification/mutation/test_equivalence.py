"""Mutants known to be equivalent to the block, and mutants known to differ from it."""

import inspect
from collections.abc import Sequence
from pathlib import Path

import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from verification.mutation.equivalence import equivalent
from verification.mutation.netlist import mutate


class Delayed(wiring.Component):
    """The input three cycles later, its highest bit always 0; a counter that nothing reads."""

    i: In(3)
    o: Out(4)

    def elaborate(self, platform):
        m = Module()
        first, second, third = Signal(4), Signal(4), Signal(4)
        limited = Signal(4)
        m.d.sync += [first.eq(self.i), second.eq(first), third.eq(second)]
        with m.If(third < 8):
            m.d.comb += limited.eq(third)
        m.d.comb += self.o.eq(limited)
        return m


class GatedSum(wiring.Component):
    """Sum of the inputs, added with ``adds`` and subtracted with ``subtracts``."""

    adds: In(1)
    subtracts: In(1)
    i: In(4)
    o: Out(4)
    clock_enable: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.clock_enable.eq(self.adds | self.subtracts)
        with m.If(self.adds):
            m.d.sync += self.o.eq(self.o + self.i)
        with m.Elif(self.subtracts):
            m.d.sync += self.o.eq(self.o - self.i)
        return m


class LastWritten(wiring.Component):
    """Memory with one port that returns the last value written into a row."""

    write: In(1)
    address: In(3)
    i: In(2)
    o: Out(2)

    def __init__(self, *, rows: int, init: Sequence[int] = ()):
        super().__init__()
        self._memory = Memory(shape=2, depth=rows, init=init)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = self._memory
        write, read = memory.write_port(), memory.read_port()
        address, later = Signal(3), Signal(3)
        m.d.comb += [
            later.eq(self.address + 3),
            address.eq(Mux(self.write, self.address, later)),
            write.addr.eq(address),
            read.addr.eq(address),
            write.en.eq(self.write),
            write.data.eq(self.i),
            read.en.eq(~self.write),
            self.o.eq(read.data),
        ]
        return m


def source_of(block, text):
    """Return file and line of the block's code with a text, in the form that a mutant has."""
    lines, first = inspect.getsourcelines(block)
    line = first + next(number for number, line in enumerate(lines) if text in line)
    return f"{Path(__file__).relative_to(Path.cwd())}:{line}"


def prove(tmp_path, wanted, block=None):
    """Return the mutants that are ``wanted``, and the numbers of those proved equivalent."""
    mutants, _ = mutate(block or Delayed(), "block", count=400, seed=3, folder=tmp_path)
    mutants = [mutant for mutant in mutants if wanted(mutant)]
    assert mutants
    return mutants, equivalent(mutants, "block", tmp_path)


@pytest.mark.verify
def test_a_comparison_that_history_makes_true(tmp_path):
    """``third`` never reaches 8, which only a proof over several cycles can show."""
    mutants, same = prove(tmp_path, lambda m: m.mode == "const1" and m.port == "Y")
    compares = [m for m in mutants if "test_equivalence.py" in "".join(m.sources)]
    assert same and {m.number for m in compares if m.bit == 0} & same


def test_an_inverted_input_is_different(tmp_path):
    mutants, same = prove(tmp_path, lambda m: m.mode == "inv" and m.port == "D" and m.bit < 3)
    assert len(mutants) >= 3 and not same


@pytest.mark.verify
def test_rows_in_another_order_are_the_same(tmp_path):
    """A permutation of the rows is equivalent if all rows have the same initial value."""
    source = source_of(LastWritten, "address.eq(Mux")

    def is_address(mutant):
        return mutant.mode == "inv" and mutant.port == "Y" and source in mutant.sources

    for block, alike in (
        (LastWritten(rows=8), True),
        (LastWritten(rows=7), False),
        (LastWritten(rows=8, init=[1]), False),
    ):
        mutants, same = prove(tmp_path, is_address, block)
        assert same == ({m.number for m in mutants} if alike else set())


def test_a_clock_enabled_too_often_is_equivalent(tmp_path):
    """A clock enabled too rarely is not equivalent: the block misses an addition."""
    source = source_of(GatedSum, "clock_enable.eq")
    mutants, same = prove(
        tmp_path,
        lambda m: m.mode.startswith("const") and source in m.sources,
        GatedSum(),
    )
    assert {m.mode for m in mutants if m.number in same} == {"const1"}
    assert {m.mode for m in mutants if m.number not in same} == {"const0"}
