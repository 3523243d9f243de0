"""Arbiter between the compute stream and the communication stream for the DRAM queue."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ArbiterConfiguration
from rtl.interface.encodings import Origin, Policy
from rtl.interface.layouts import DramRequest
from rtl.parameters import T3Parameters

from .arbiter_inputs import ArbiterInputs
from .measurement import Measurement
from .policies import POLICIES

__all__ = ["Arbiter"]


class Arbiter(wiring.Component):
    """Arbiter between two streams, with a configurable policy.

    Combinational from the candidates to ``o``, one request per cycle. ``o.valid`` does not depend
    on ``o.ready``. The arbiter decides anew in every cycle, so the request at ``o`` may change
    while ``o`` is not ready. A queue at ``o`` tolerates this, since it samples a request only when
    it accepts it.

    :data:`~rtl.channel.arbitration.policies.POLICIES` lists the policies; an unassigned number acts
    as ``ROUND_ROBIN``. :class:`Measurement` provides the threshold for ``automatic``.

    Members
    -------
    compute, communication : In(stream)
        Candidate requests.
    o : Out(stream)
        Selected request, for the issue queue.
    occupancy : In(7)
        Entries of the DRAM queue, from a register.
    configuration : In(:func:`ArbiterConfiguration`)
    start : In(1)
        Begin the measurement, with the occupancy of the next cycle.
    active, relaxed, critical, congested : In(1)
        Outputs of :class:`~rtl.trigger.criticality.Criticality`.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    measurement : Measurement
    last : Signal
        Origin of the last accepted request.
    starved, compute_starved : Signal
        Cycles for which the communication request and the compute request have waited; saturating.
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
                "active": In(1),
                "relaxed": In(1),
                "critical": In(1),
                "congested": In(1),
                "clock_enable": Out(1),
            }
        )
        self.measurement = Measurement(p)
        self.last = Signal(Origin, init=Origin.COMMUNICATION)
        self.starved = Signal(16)
        self.compute_starved = Signal(16)

    def elaborate(self, platform):
        m = Module()
        self._measure(m)
        self._grant(m, self._decide(m))
        return m

    def _measure(self, m: Module) -> None:
        m.submodules.measurement = measurement = self.measurement
        m.d.comb += [
            measurement.occupancy.eq(self.occupancy),
            measurement.configuration.eq(self.configuration),
            measurement.start.eq(self.start),
        ]

    def _decide(self, m: Module) -> Signal:
        """Decide by the policy whether a communication request may pass."""
        now = ArbiterInputs(
            compute=self.compute.valid,
            communication=self.communication.valid,
            last=self.last,
            starved=self.starved,
            compute_starved=self.compute_starved,
            occupancy=self.occupancy,
            configuration=self.configuration,
            measured=self.measurement.measured,
            active=self.active,
            relaxed=self.relaxed,
            critical=self.critical,
            congested=self.congested,
        )
        communicate = Signal()
        m.d.comb += communicate.eq(POLICIES[Policy.ROUND_ROBIN](now))
        with m.Switch(self.configuration.policy):
            for policy, decide in POLICIES.items():
                with m.Case(policy):
                    m.d.comb += communicate.eq(decide(now))
        return communicate

    def _grant(self, m: Module, communicate: Signal) -> None:
        """Pass one request to ``o``, and update the waiting times and the last origin."""
        # Without a communication request, the compute request is selected, valid or not.
        grant = Signal()
        m.d.comb += [
            grant.eq(self.communication.valid & communicate),
            self.o.p.eq(Mux(grant, self.communication.p, self.compute.p)),
            self.o.valid.eq(grant | self.compute.valid),
            self.communication.ready.eq(grant & self.o.ready),
            self.compute.ready.eq(~grant & self.o.ready),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += self.last.eq(Mux(grant, Origin.COMMUNICATION, Origin.COMPUTE))
        for candidate, starved in (
            (self.communication, self.starved),
            (self.compute, self.compute_starved),
        ):
            waits = candidate.valid & ~candidate.ready
            m.d.sync += starved.eq(Mux(waits, starved + (starved != 0xFFFF), 0))
        m.d.comb += self.clock_enable.eq(
            self.measurement.clock_enable
            | Cat(self.compute.valid, self.communication.valid).any()
            | Cat(self.starved, self.compute_starved).any()
        )
