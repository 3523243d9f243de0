"""Proof of the criticality unit: the bit-serial verdict follows the contract's formula."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from rtl.parameters import T3Parameters
from rtl.trigger.criticality import Criticality

from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

# Low bits of the link time that are 0, because they hardly decide, and the bits above them.
_LINK_TIME_LOW, _LINK_TIME_BITS = 3, 3
_ELAPSED_BITS = 2
_TAKEN, _LAST = 3, 63  # phases


class ComparisonHarness(Elaboratable):
    """Harness of one comparison with arbitrary operands.

    The induction begins in an arbitrary state, so the proof does not wait for the times to grow.
    The times are short, because the solver has to multiply them.
    """

    def __init__(self, criticality: type = Criticality):
        self._criticality = criticality

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._criticality(_PARAMETERS)
        free(m, dut.launch_configuration, dut.launch, dut.tick, dut.dispatched, dut.finished)
        free(m, dut.issued, dut.busy, dut.oldest, dut.dispatch_limit)
        workgroups = dut.launch_configuration.workgroups
        kernel = workgroups * dut.finish_time - dut.finished * dut.elapsed
        longest = Mux(dut.group_time > dut.link_time, dut.group_time, dut.link_time)
        link = dut.remaining * dut.finished * longest

        late, shown = Signal(), Signal()  # verdicts of the current and of the last comparison
        overdue, longer = Signal(), Signal()
        m.d.comb += [overdue.eq(kernel < 0), longer.eq(3 * (kernel << (2 + dut.timed_log2)) < link)]
        with m.If(dut.phase == _TAKEN):
            m.d.sync += late.eq(overdue | longer)
            m.d.comb += [
                *(
                    assumption
                    for time in (dut.link_time, dut.group_time)
                    for assumption in (
                        Assume(time < 1 << (_LINK_TIME_LOW + _LINK_TIME_BITS)),
                        Assume(time[:_LINK_TIME_LOW] == 0),
                    )
                ),
                Assume(dut.elapsed < 1 << _ELAPSED_BITS),
                Assume(dut.finish_time < 1 << _ELAPSED_BITS),
            ]
        with m.If(dut.phase == _LAST):
            m.d.sync += shown.eq(late)
        with m.If(dut.launch):
            m.d.sync += shown.eq(0)
        m.d.comb += [
            Assert(dut.late == shown, "late: differs from the formula"),
            Cover((dut.phase == _LAST) & ~dut.launch, "a verdict"),
        ]
        return m


_PARAMETERS = T3Parameters(contexts=1, workgroup_bits=2, sets=1)

PROOFS = (
    Proof(
        name="criticality-comparison",
        statement="The verdict is the value of the contract's formula for the operands of the last "
        "comparison; after a launch it is not late until a comparison has ended",
        blocks=(Criticality,),
        harness=ComparisonHarness,
        geometry=f"4 workgroups, elapsed times of {_ELAPSED_BITS} bits, link times of "
        f"{_LINK_TIME_BITS} bits above {_LINK_TIME_LOW} zero bits",
        reason="the solver has to multiply; lockstep runs compare the reference's geometry",
        depth=62,
        cover_depth=66,
        slow=True,
    ),
)
