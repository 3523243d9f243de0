"""Criticality: the verdict that is found bit by bit is that of the contract's formula."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Signal

from rtl.parameters import T3Parameters
from rtl.trigger.criticality import Criticality

from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_LINK_TIME_LOW, _LINK_TIME_BITS = 3, 3  # of the link's time: 0 below, where it hardly decides
_ELAPSED_BITS = 2
_TAKEN, _LAST = 3, 63  # phases


class ComparisonHarness(Elaboratable):
    """One comparison, from operands of any registers' values on.

    An induction over more than one begins in any state, so that the times need not be waited for.
    They are short, so that the solver can multiply.
    """

    def __init__(self, criticality: type = Criticality):
        self._criticality = criticality

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._criticality(_PARAMETERS)
        free(m, dut.launch_configuration, dut.launch, dut.tick, dut.dispatched, dut.finished)
        free(m, dut.issued, dut.oldest, dut.dispatch_limit)
        workgroups = dut.launch_configuration.workgroups
        kernel = workgroups * dut.finish_time - dut.finished * dut.elapsed
        link = dut.remaining * dut.finished * dut.link_time

        late, shown = Signal(), Signal()  # of the comparison under way, and of the last one
        overdue, longer = Signal(), Signal()
        m.d.comb += [overdue.eq(kernel < 0), longer.eq(3 * (kernel << 7) < link)]
        with m.If(dut.phase == _TAKEN):
            m.d.sync += late.eq(overdue | longer)
            m.d.comb += [
                Assume(dut.link_time < 1 << (_LINK_TIME_LOW + _LINK_TIME_BITS)),
                Assume(dut.link_time[:_LINK_TIME_LOW] == 0),
                Assume(dut.elapsed < 1 << _ELAPSED_BITS),
                Assume(dut.finish_time < 1 << _ELAPSED_BITS),
            ]
        with m.If(dut.phase == _LAST):
            m.d.sync += shown.eq(late)
        with m.If(dut.launch):
            m.d.sync += shown.eq(0)
        m.d.comb += [
            Assert(dut.late == shown, "not the formula's verdict"),
            Cover((dut.phase == _LAST) & ~dut.launch, "a verdict"),
        ]
        return m


_PARAMETERS = T3Parameters(contexts=1, workgroup_bits=2, sets=1)

PROOFS = (
    Proof(
        name="criticality-comparison",
        statement="The verdict is that of the contract's formula for the operands of the last "
        "comparison; after a launch nothing is late until one has ended",
        blocks=(Criticality,),
        harness=ComparisonHarness,
        geometry=f"4 workgroups, elapsed times of {_ELAPSED_BITS} bits, link times of "
        f"{_LINK_TIME_BITS} bits above {_LINK_TIME_LOW} that are 0",
        reason="the solver multiplies; lockstep runs compare the reference's",
        depth=62,
        cover_depth=66,
        slow=True,
    ),
)
