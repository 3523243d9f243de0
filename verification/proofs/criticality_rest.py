"""Proof of the criticality unit: a skipped comparison would repeat the last verdict."""

from amaranth.hdl import (
    Assert,
    Assume,
    Cat,
    Cover,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
    signed,
)

from rtl.parameters import T3Parameters
from rtl.trigger.criticality import Criticality

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_REMAINING, _TAKEN = 2, 3  # phases


class RestHarness(Elaboratable):
    """Harness with arbitrary inputs; the launch configuration changes with a launch only.

    The unit registers the end of a workgroup in the next cycle and compares at the first tick from
    then on. The time of the current group alone begins no comparison.
    """

    def __init__(self, criticality: type = Criticality):
        self._criticality = criticality

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._criticality(T3Parameters(contexts=1))
        free(m, dut.launch_configuration, dut.launch, dut.tick, dut.aborting, dut.dispatched)
        free(m, dut.finished, dut.issued, dut.busy, dut.oldest, dut.dispatch_limit, dut.held_up)
        configuration, begun = Signal.like(dut.launch_configuration), Signal()
        m.d.sync += [configuration.eq(dut.launch_configuration), begun.eq(1)]
        m.d.comb += Assume(~begun | dut.launch | (dut.launch_configuration == configuration))

        # Ghost state of the comparison: it has begun, and its operands that the block does not
        # store.
        compared, phase = Signal(), dut.phase
        finish_time, elapsed = Signal.like(dut.finish_time), Signal.like(dut.elapsed)
        group_time = Signal.like(dut.group_time)
        longest = Mux(group_time > dut.link_time, group_time, dut.link_time)
        with m.If(phase == _TAKEN):
            m.d.sync += [finish_time.eq(dut.finish_time), elapsed.eq(dut.elapsed)]
            m.d.sync += group_time.eq(dut.group_time)
        with m.If(phase != 0):
            m.d.sync += compared.eq(1)
        done, whole, left = self._left(m, dut, configuration)
        prepared, taken, nothing = Signal(), Signal(), Signal()
        m.d.comb += [
            prepared.eq(dut.remaining == left),
            taken.eq(
                (dut.finished_taken == dut.finished_seen)
                & (dut.link_time_taken == longest)
                & (dut.workgroups_taken == configuration.workgroups)
                & (finish_time == dut.finish_time)
                & (elapsed == dut.elapsed)
            ),
            nothing.eq(~Cat(dut.late, dut.link_time, dut.finish_time, dut.elapsed).any()),
        ]
        rests = Signal()
        m.d.comb += [
            rests.eq((phase == 0) & ~dut.changed),
            Assert(~rests | Mux(compared, prepared & taken, nothing), "the operands have changed"),
            Cover(rests & compared & dut.tick, "a comparison is skipped"),
            invariant(compared | (phase <= 1), "compared: differs"),
        ]
        with m.If(~dut.changed & (phase != 0)):
            m.d.comb += [
                invariant(
                    (phase > _REMAINING) | (dut.settled == done), "finished workgroups differ"
                ),
                invariant(
                    (phase != _REMAINING) | (dut.remaining == whole), "tracked workgroups: differ"
                ),
                invariant((phase <= _REMAINING) | prepared, "remaining workgroups: differ"),
                invariant((phase <= _TAKEN) | taken, "operands: differ"),
            ]
        return m

    @staticmethod
    def _left(m: Module, dut: Criticality, configuration) -> tuple[Value, Value, Value]:
        """Numbers of workgroups: no longer to be sent, to be sent in all, and remaining."""
        done, left = Signal(len(dut.settled)), Signal(signed(len(dut.settled) + 2))
        first = configuration.tracked_first
        m.d.comb += [
            done.eq(Mux(dut.finished_seen < first, dut.finished_seen, first + dut.sent)),
            left.eq(configuration.to_send - done),
        ]
        return done, configuration.to_send, Mux(left > 0, left, 0)


PROOFS = (
    Proof(
        name="criticality-rest",
        statement="A tick begins a comparison unless the last one had the same operands except for "
        "the time of the current group, there is nothing to compare yet, or one is running",
        blocks=(Criticality,),
        harness=RestHarness,
        geometry="reference",
        depth=2,
        cover_depth=72,
        slow=True,
    ),
)
