"""Mutants that are known to be equivalent, and some that are known not to be."""

import inspect
from collections.abc import Sequence
from pathlib import Path

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


class Sleeping(wiring.Component):
    """The sum of what came with ``adds`` or ``subtracts``."""

    adds: In(1)
    subtracts: In(1)
    i: In(4)
    o: Out(4)
    awake: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.awake.eq(self.adds | self.subtracts)
        with m.If(self.adds):
            m.d.sync += self.o.eq(self.o + self.i)
        with m.Elif(self.subtracts):
            m.d.sync += self.o.eq(self.o - self.i)
        return m


class Kept(wiring.Component):
    """A memory with one port: what was written into a row last."""

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
    """File and line of the block's code with a text, as a mutant has them."""
    lines, first = inspect.getsourcelines(block)
    line = first + next(number for number, line in enumerate(lines) if text in line)
    return f"{Path(__file__).relative_to(Path.cwd())}:{line}"


def prove(tmp_path, wanted, block=None):
    """Every mutant there is of the cells of a kind, by whether it is proved equivalent."""
    mutants, _ = mutate(block or Delayed(), "block", count=400, seed=3, folder=tmp_path)
    mutants = [mutant for mutant in mutants if wanted(mutant)]
    assert mutants
    return mutants, equivalent(mutants, "block", tmp_path)


def test_a_comparison_that_history_makes_true(tmp_path):
    """``third`` never reaches 8: that the comparison is always true can only be seen over several
    cycles."""
    mutants, same = prove(tmp_path, lambda m: m.mode == "const1" and m.port == "Y")
    compares = [m for m in mutants if "test_equivalence.py" in "".join(m.sources)]
    assert same and {m.number for m in compares if m.bit == 0} & same


def test_an_inverted_input_is_different(tmp_path):
    mutants, same = prove(tmp_path, lambda m: m.mode == "inv" and m.port == "D" and m.bit < 3)
    assert len(mutants) >= 3 and not same


def test_rows_in_another_order_are_the_same(tmp_path):
    """As long as each has its place, and none begins with something else."""
    source = source_of(Kept, "address.eq(Mux")

    def is_address(mutant):
        return mutant.mode == "inv" and mutant.port == "Y" and source in mutant.sources

    for block, alike in (
        (Kept(rows=8), True),
        (Kept(rows=7), False),
        (Kept(rows=8, init=[1]), False),
    ):
        mutants, same = prove(tmp_path, is_address, block)
        assert same == ({m.number for m in mutants} if alike else set())


def test_only_what_wakes_for_nothing_is_the_same(tmp_path):
    """The clock stops while the block is not awake, so one that oversleeps loses a sum."""
    source = source_of(Sleeping, "awake.eq")
    mutants, same = prove(
        tmp_path,
        lambda m: m.mode.startswith("const") and source in m.sources,
        Sleeping(),
    )
    assert {m.mode for m in mutants if m.number in same} == {"const1"}
    assert {m.mode for m in mutants if m.number not in same} == {"const0"}
