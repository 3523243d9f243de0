"""The runner of proofs: every status, its notes and its waveform."""

from contextlib import suppress
from dataclasses import replace

import psutil
import pytest
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from verification.proofs.invariant import invariant
from verification.proofs.proof import Mode, Proof
from verification.proofs.run import prove, prove_all
from verification.proofs.sby import Run


class Counter(wiring.Component):
    """Counter to 5 that begins anew."""

    step: In(1)
    o: Out(3)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.step):
            m.d.sync += self.o.eq(self.o + 1)
            with m.If(self.o == 5):
                m.d.sync += self.o.eq(0)
        return m


class Harness(Elaboratable):
    def __init__(self, counter=Counter, *, most=5, reached=5, known=True):
        self.counter, self.most, self.reached, self.known = counter, most, reached, known

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.counter()
        m.d.comb += [
            dut.step.eq(AnySeq(1)),
            Assert(dut.o != 7, "seven"),
            Assert(dut.o <= self.most, "too many"),
            Cover(dut.o == self.reached, "reached"),
        ]
        if self.known:
            m.d.comb += invariant(dut.o < 6, "no state")
        return m


PROOF = Proof(
    name="counter",
    statement="counts to five",
    blocks=(Counter,),
    harness=Harness,
    geometry="3 bits",
    depth=1,
    cover_depth=8,
)


def status(tmp_path, **changes):
    result = prove(replace(PROOF, **changes), tmp_path)
    return result.status, result.notes, result.trace


def test_proved(tmp_path):
    assert status(tmp_path) == ("proved", [], None)


@pytest.mark.verify
def test_refuted_beyond_the_first_cycles(tmp_path):
    """The induction fails at once; the counterexample is five cycles long."""
    got, (note,), trace = status(tmp_path, harness=lambda c: Harness(c, most=4))
    assert got == "failed" and trace == tmp_path / "counter" / "trace.vcd" and trace.exists()
    assert note.startswith("failed: too many (tests/verification/proofs/test_run.py:")


@pytest.mark.verify
@pytest.mark.parametrize("cover_depth", [5, 6, 12])
def test_refuted_in_one_cycle_only(cover_depth, tmp_path):
    """The counterexample lies in the last cycle, or in either half, in one cycle only."""

    class Early(Harness):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            time = Signal(3, reset_less=True)
            m.d.sync += time.eq(time + (time != 7))
            m.d.comb += Assert(time != 4, "four")
            return m

    got, (note,), _ = status(tmp_path, harness=Early, cover_depth=cover_depth)
    assert got == "failed" and note.startswith("failed: four (")


@pytest.mark.verify
def test_a_cover_that_is_not_reached(tmp_path):
    got, (note,), trace = status(tmp_path, harness=lambda c: Harness(c, reached=6))
    assert got == "vacuous" and note.startswith("not reached: reached (") and trace is None


@pytest.mark.verify
def test_neither_proved_nor_refuted(tmp_path):
    """The state 6, which the invariant excludes, leads to 7: the induction fails without it."""
    got, notes, trace = status(tmp_path, harness=lambda c: Harness(c, most=6, known=False))
    assert got == "unknown" and notes and trace.name == "induction.vcd"


@pytest.mark.verify
def test_bounded(tmp_path):
    bounded = {"mode": Mode.BOUNDED, "depth": 4, "reason": "to see"}
    got, _, _ = status(tmp_path, harness=lambda c: Harness(c, most=4), cover_depth=6, **bounded)
    assert got == "bounded"  # the fifth step is not checked


@pytest.mark.verify
def test_an_old_waveform_goes(tmp_path):
    _, _, trace = status(tmp_path, harness=lambda c: Harness(c, most=4))
    assert trace.exists()
    status(tmp_path)
    assert not trace.exists()


class Products(Elaboratable):
    """Harness that no solver decides within a day."""

    def __init__(self, counter):
        pass

    def elaborate(self, platform):
        m = Module()
        a, b, c = AnySeq(32), AnySeq(32), AnySeq(32)
        m.d.comb += [Assert((a + b) * c == a * c + b * c, "distributes"), Cover(a == b, "equal")]
        return m


def test_an_interrupt_ends_proofs_in_progress(tmp_path):
    others = set(psutil.Process().children(recursive=True))

    def solvers():
        names = []
        for program in set(psutil.Process().children(recursive=True)) - others:
            with suppress(psutil.NoSuchProcess):
                names.append(program.name())
        return [name for name in names if "yices" in name]

    def interrupt(task, share):
        if solvers():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prove_all([replace(PROOF, harness=Products, timeout_s=600)] * 3, tmp_path, interrupt)
    assert solvers() == []


def test_a_bounded_proof_gives_its_reason():
    with pytest.raises(ValueError, match="must give its reason: 'counter'"):
        replace(PROOF, mode=Mode.BOUNDED)


def test_a_copy_of_another_block():
    with pytest.raises(ValueError, match="'counter' has no block"):
        PROOF.with_copy(Harness, Counter)


def test_an_error_names_its_first_line(tmp_path, monkeypatch):
    """The first error line is reported, not only the summary at the log's end."""
    log = "\n".join(["start", "yosys: ERROR: no memory", "more", "SBY DONE (ERROR, rc=16)"])
    monkeypatch.setattr(
        "verification.proofs.run.run_sby",
        lambda *arguments, **options: Run("ERROR", log, [], tmp_path),
    )
    result = prove(PROOF, tmp_path)
    assert result.status == "error" and not result.holds
    assert result.notes == ["yosys: ERROR: no memory", "SBY DONE (ERROR, rc=16)"]
