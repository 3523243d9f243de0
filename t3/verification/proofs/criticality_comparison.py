"""Criticality: the verdict that is found bit by bit is that of the contract's formula."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Signal

from rtl.parameters import T3Parameters
from rtl.trigger.criticality import Criticality

from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_LINK_TIME_LOW, _LINK_TIME_BITS = 9, 3  # of the link's time: 0 below, where it hardly decides
_ELAPSED_BITS = 2
_TAKEN = 3  # phase


class ComparisonHarness(Elaboratable):
    """One period, from operands of any registers' values on.

    An induction over more than a period begins in any state, so that the times need not be waited
    for. They are short, so that the solver can multiply.
    """

    def __init__(self, criticality: type = Criticality):
        self._criticality = criticality

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._criticality(_PARAMETERS)
        free(m, dut.launch_configuration, dut.launch, dut.dispatched, dut.finished)
        free(m, dut.issued, dut.oldest, dut.dispatch_limit)
        workgroups = dut.launch_configuration.workgroups
        kernel = workgroups * dut.finish_time - dut.finished * dut.elapsed
        link = dut.remaining * dut.finished * dut.link_time

        known, launched, late = Signal(), Signal(), Signal()
        overdue, longer = Signal(), Signal()
        m.d.comb += [overdue.eq(kernel < 0), longer.eq(3 * (kernel << 13) < link)]
        taken = dut.phase == _TAKEN
        with m.If(taken):
            m.d.sync += [known.eq(1), launched.eq(dut.launch), late.eq(overdue | longer)]
            m.d.comb += [
                Assume(dut.link_time < 1 << (_LINK_TIME_LOW + _LINK_TIME_BITS)),
                Assume(dut.link_time[:_LINK_TIME_LOW] == 0),
                Assume(dut.elapsed < 1 << _ELAPSED_BITS),
                Assume(dut.finish_time < 1 << _ELAPSED_BITS),
            ]
        with m.Elif(dut.launch):
            m.d.sync += launched.eq(1)
        m.d.comb += [
            Assert(
                ~known | (dut.phase != 0) | (dut.late == (late & ~launched)),
                "not the formula's verdict",
            ),
            Cover(known & (dut.phase == 0), "a verdict"),
        ]
        return m


_PARAMETERS = T3Parameters(contexts=1, workgroup_bits=2, sets=1)

PROOFS = (
    Proof(
        name="criticality-comparison",
        statement="Unless there was a launch since the operands were taken, the verdict is that of "
        "the contract's formula",
        blocks=(Criticality,),
        harness=ComparisonHarness,
        geometry=f"4 workgroups, elapsed times of {_ELAPSED_BITS} bits, link times of as many as "
        f"{_LINK_TIME_BITS} above {_LINK_TIME_LOW} that are 0",
        reason="the solver multiplies; lockstep runs compare the reference's",
        depth=62,
        cover_depth=66,
        slow=True,
    ),
)
