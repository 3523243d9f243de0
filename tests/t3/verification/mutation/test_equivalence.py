"""Mutants that are known to be equivalent, and some that are known not to be."""

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


def prove(tmp_path, wanted):
    """Every mutant there is of the cells of a kind, by whether it is proved equivalent."""
    mutants, _ = mutate(Delayed(), "delayed", count=400, seed=3, folder=tmp_path)
    mutants = [mutant for mutant in mutants if wanted(mutant)]
    assert mutants
    return mutants, equivalent(mutants, "delayed", tmp_path)


def test_a_comparison_that_history_makes_true(tmp_path):
    """``third`` never reaches 8: that the comparison is always true can only be seen over several
    cycles."""
    mutants, same = prove(tmp_path, lambda m: m.mode == "const1" and m.port == "Y")
    compares = [m for m in mutants if "test_equivalence.py" in "".join(m.sources)]
    assert same and {m.number for m in compares if m.bit == 0} & same


def test_an_inverted_input_is_different(tmp_path):
    mutants, same = prove(tmp_path, lambda m: m.mode == "inv" and m.port == "D" and m.bit < 3)
    assert len(mutants) >= 3 and not same
