"""Compute stream against communication stream, in front of the DRAM queue."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ArbiterConfiguration
from rtl.interface.encodings import Origin, Policy
from rtl.interface.layouts import DramRequest
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

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
    before it has ended, and for two cycles more. ``start`` begins a measurement, in place of one
    that is running.

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

        # Adding, then the average, then the level: a cycle each, so that none is long.
        measuring = Signal()
        averaging = Signal()
        choosing = Signal()
        # As many bits as the longest measurement has samples, and its sum carries.
        bits = (1 << len(config.measure_log2)) - 1
        m.submodules.count = count = WideCounter(bits)
        # The sum: what is too small for a carry, and how many carries there were.
        low = Signal(7)
        m.submodules.carries = carries = WideCounter(bits)
        more = Signal(8)
        average = Signal(7)
        level = Signal(7)
        measured = Signal(7, init=NO_LIMIT)
        end = Signal()
        m.d.comb += [
            end.eq(measuring & (count.o == (1 << config.measure_log2) - 1)),
            count.step.eq(measuring),
            count.clear.eq(self.start),
            more.eq(low + self.occupancy),
            carries.step.eq(measuring & more[-1]),
            carries.clear.eq(self.start),
            level.eq(NO_LIMIT),
        ]
        for cut, cut_level in zip(config.cuts, config.levels, strict=True):
            with m.If(average >= cut):
                m.d.comb += level.eq(cut_level)
        m.d.sync += [
            averaging.eq(end),
            choosing.eq(averaging),
            average.eq(Cat(low, carries.o) >> config.measure_log2),
        ]
        with m.If(measuring):
            m.d.sync += low.eq(more)
        with m.If(end):
            m.d.sync += measuring.eq(0)
        with m.If(choosing):
            m.d.sync += measured.eq(level)
        with m.If(self.start):
            m.d.sync += [
                measuring.eq(1),
                averaging.eq(0),
                choosing.eq(0),
                low.eq(0),
                measured.eq(NO_LIMIT),
            ]

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
