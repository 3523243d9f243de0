"""Mutants that are known to be equivalent, and some that are known not to be."""

import inspect

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from t3.verification.mutation.equivalence import equivalent
from t3.verification.mutation.netlist import mutate


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


def prove(tmp_path, wanted, block=Delayed):
    """Every mutant there is of the cells of a kind, by whether it is proved equivalent."""
    mutants, _ = mutate(block(), "block", count=400, seed=3, folder=tmp_path)
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


def test_only_what_wakes_for_nothing_is_the_same(tmp_path):
    """The clock stops while the block is not awake, so one that oversleeps loses a sum."""
    lines, first = inspect.getsourcelines(Sleeping)
    line = first + next(n for n, line in enumerate(lines) if "awake.eq" in line)
    mutants, same = prove(
        tmp_path,
        lambda m: m.mode.startswith("const") and any(s.endswith(f":{line}") for s in m.sources),
        Sleeping,
    )
    assert {m.mode for m in mutants if m.number in same} == {"const1"}
    assert {m.mode for m in mutants if m.number not in same} == {"const0"}
