"""Compute stream against communication stream, in front of the DRAM queue."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .layouts import ArbiterConfiguration, DramRequest, Origin, Policy
from .parameters import T3Parameters

__all__ = ["Arbiter"]

NO_LIMIT = 127


class Arbiter(wiring.Component):
    """Chooses between the two streams by the configured policy.

    Combinational from the candidates to ``o``, one request per cycle. ``o.valid`` does not depend
    on ``o.ready``. The choice is made anew in every cycle, so a request that is offered while ``o``
    is not ready may give way to another one: ``o`` is for a queue, which looks at a request only
    when it takes it.

    * ``ROUND_ROBIN``, and the policy number that is not assigned: alternates while both have a
      request.
    * ``COMPUTE_FIRST``: communication passes only when compute has none.
    * ``MCA``: as ``COMPUTE_FIRST``, and also only while the DRAM queue holds fewer entries than the
      threshold; but a communication request that has waited ``starvation_limit`` cycles goes first.

    With ``automatic`` the threshold is the level that the last measurement chose, and none (127)
    before it has ended. ``start`` begins a measurement, in place of one that is running.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    compute, communication : In(stream)
        Candidates.
    o : Out(stream)
        To the issue queue.
    occupancy : In(7)
        Entries of the DRAM queue, from a register.
    configuration : In(ArbiterConfiguration)
    start : In(1)
        Begin the measurement; the occupancy counts from the next cycle on.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        super().__init__(
            {
                "compute": In(stream.Signature(DramRequest(p))),
                "communication": In(stream.Signature(DramRequest(p))),
                "o": Out(stream.Signature(DramRequest(p))),
                "occupancy": In(7),
                "configuration": In(ArbiterConfiguration(p)),
                "start": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.configuration

        measuring = Signal()
        count = Signal(32)
        total = Signal(40)
        measured = Signal(7, init=NO_LIMIT)
        average = Signal(7)
        end = Signal()
        m.d.comb += [
            end.eq(measuring & (count == (1 << config.measure_log2) - 1)),
            average.eq((total + self.occupancy) >> config.measure_log2),
        ]
        with m.If(self.start):
            m.d.sync += [measuring.eq(1), count.eq(0), total.eq(0), measured.eq(NO_LIMIT)]
        with m.Elif(measuring):
            m.d.sync += [count.eq(count + 1), total.eq(total + self.occupancy)]
            with m.If(end):
                m.d.sync += [measuring.eq(0), measured.eq(NO_LIMIT)]
                for cut, level in zip(config.cuts, config.levels, strict=True):
                    with m.If(average >= cut):
                        m.d.sync += measured.eq(level)

        last = Signal(Origin, init=Origin.COMMUNICATION)
        starved = Signal(16)
        threshold = Signal(7)
        urgent = Signal()
        calm = Signal()
        m.d.comb += [
            threshold.eq(Mux(config.automatic, measured, config.threshold)),
            urgent.eq(starved >= config.starvation_limit),
            calm.eq((threshold == NO_LIMIT) | (self.occupancy < threshold)),
        ]

        communicate = Signal()
        with m.Switch(config.policy):
            with m.Case(Policy.COMPUTE_FIRST):
                m.d.comb += communicate.eq(~self.compute.valid)
            with m.Case(Policy.MCA):
                m.d.comb += communicate.eq(urgent | (~self.compute.valid & calm))
            with m.Default():
                m.d.comb += communicate.eq(~self.compute.valid | (last == Origin.COMPUTE))
        # With no communication request, what is left is compute, valid or not.
        grant = Signal()
        m.d.comb += [
            grant.eq(self.communication.valid & communicate),
            self.o.p.eq(Mux(grant, self.communication.p, self.compute.p)),
            self.o.valid.eq(grant | self.compute.valid),
            self.communication.ready.eq(grant & self.o.ready),
            self.compute.ready.eq(~grant & self.o.ready),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += last.eq(Mux(grant, Origin.COMMUNICATION, Origin.COMPUTE))
        waits = self.communication.valid & ~self.communication.ready
        m.d.sync += starved.eq(Mux(waits, starved + (starved != 0xFFFF), 0))
        return m
