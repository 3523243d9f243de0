"""Proof of the arbiter: one grant, no loss, specified policies, no starvation."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.channel.arbitration.arbiter import Arbiter
from rtl.interface.encodings import NO_LIMIT, Origin, Policy
from rtl.parameters import T3Parameters

from .invariant import invariant
from .proof import Proof
from .streams import free, moves

__all__ = ["PROOFS"]


class ArbiterHarness(Elaboratable):
    """Harness with arbitrary streams and an arbitrary queue behind the arbiter.

    The configuration and the inputs from the criticality unit may change in every cycle; only the
    starvation limit is an arbitrary constant. Each stream numbers its requests, which identifies
    the requests that leave. A measured threshold is taken from the block: its measurement is not
    part of this proof.
    """

    def __init__(self, arbiter: type = Arbiter):
        self._arbiter = arbiter

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._arbiter(T3Parameters(contexts=1))
        compute, communication, o = dut.compute, dut.communication, dut.o
        free(m, dut.occupancy, dut.start, o.ready)
        free(m, dut.active, dut.relaxed, dut.critical, dut.congested)
        free(m, compute.valid, compute.p, communication.valid, communication.p)
        free(m, *(dut.configuration[name] for name in _CHANGING))
        limit = Signal(16)
        m.d.comb += [limit.eq(AnyConst(16)), dut.configuration.starvation_limit.eq(limit)]

        c_moves, m_moves = Signal(), Signal()
        m.d.comb += [c_moves.eq(moves(compute)), m_moves.eq(moves(communication))]
        self._assert_one_grant(m, dut, c_moves, m_moves)
        self._assert_order(m, dut)

        least = Signal(16)
        m.d.comb += least.eq(Mux(limit == 0, 1, limit))  # a limit of 0 acts like 1
        due, compute_due = self._assert_starvation(m, dut, least, c_moves, m_moves)
        self._assert_policies(m, dut, due, compute_due, c_moves, m_moves)
        return m

    def _assert_one_grant(self, m: Module, dut: Arbiter, c_moves: Value, m_moves: Value) -> None:
        """Assert that each leaving request comes from one stream, and only that stream is ready."""
        o = dut.o
        m.d.comb += [
            Assert(~(dut.compute.ready & dut.communication.ready), "two grants"),
            Assert((c_moves | m_moves) == moves(o), "inputs and output transfer different numbers"),
            Assert(~c_moves | (o.p == dut.compute.p), "a compute request changes"),
            Assert(~m_moves | (o.p == dut.communication.p), "a communication request changes"),
        ]

    def _assert_order(self, m: Module, dut: Arbiter) -> None:
        """Assert that each stream's requests leave in order: none is missing, none is repeated."""
        for origin, source in (
            (Origin.COMPUTE, dut.compute),
            (Origin.COMMUNICATION, dut.communication),
        ):
            name = origin.name.lower()
            taken = Signal.like(source.p.tag, name=f"{name}_taken")
            given = Signal.like(source.p.tag, name=f"{name}_given")
            gives = moves(dut.o) & (dut.o.p.origin == origin)
            m.d.sync += [taken.eq(taken + moves(source)), given.eq(given + gives)]
            m.d.comb += [
                Assume(source.p.origin == origin),
                Assume(source.p.tag == taken),
                Assert(~gives | (dut.o.p.tag == given), f"{name}: lost, repeated, or out of order"),
                invariant(taken == given, f"{name}: numbers of taken and leaving requests differ"),
            ]

    def _assert_starvation(
        self, m: Module, dut: Arbiter, limit: Value, c_moves: Value, m_moves: Value
    ) -> tuple[Value, Value]:
        """Assert that under every policy, and under any sequence of policies, a request of compute
        loses at most as many cycles as the limit, and one of communication one more. Return the
        signals that communication and compute have waited for the limit.

        Communication loses one more cycle if it was held back for the limit before compute had a
        request, and then both have waited for the limit.
        """
        dues = []
        for name, source, starved, own, other, more in (
            ("communication", dut.communication, dut.starved, m_moves, c_moves, 1),
            ("compute", dut.compute, dut.compute_starved, c_moves, m_moves, 0),
        ):
            waited, lost = Signal(16, name=f"{name}_waited"), Signal(17, name=f"{name}_lost")
            # Communication may be held back without a compute request.
            loses = dut.o.ready if more else other
            with m.If(source.valid & ~own):
                m.d.sync += waited.eq(Mux(waited == 0xFFFF, waited, waited + 1))
                with m.If(loses):
                    m.d.sync += lost.eq(lost + 1)
            with m.Else():
                m.d.sync += [waited.eq(0), lost.eq(0)]
            turn = Origin.COMMUNICATION if more else Origin.COMPUTE
            m.d.comb += [
                Assert(lost <= limit + more, f"{name} loses more cycles than the limit"),
                Cover((limit == 3) & (lost == limit), f"{name}: the starvation limit is reached"),
                Cover(
                    (limit == 3) & (lost == 3) & own & dut.compute.valid,
                    f"{name}: the limit takes effect",
                ),
                invariant(starved == waited, f"{name}: the block counts other cycles"),
                invariant(
                    (lost <= waited) | (waited == 0xFFFF),
                    f"{name}: more lost cycles than waiting cycles",
                ),
                invariant(
                    (dut.last != turn) | (lost <= (limit if more else 0)),
                    f"{name}: a cycle is lost before a turn",
                ),
            ]
            dues.append(waited >= limit)
        return dues[0], dues[1]

    def _assert_policies(
        self,
        m: Module,
        dut: Arbiter,
        due: Value,
        compute_due: Value,
        c_moves: Value,
        m_moves: Value,
    ) -> None:
        """Assert the choice of each policy."""
        config = dut.configuration
        c, communication, ready = dut.compute.valid, dut.communication.valid, dut.o.ready
        last = Signal(Origin, init=Origin.COMMUNICATION)
        with m.If(moves(dut.o)):
            m.d.sync += last.eq(dut.o.p.origin)
        threshold = Mux(config.automatic, dut.measurement.measured, config.threshold)
        calm = Signal()
        m.d.comb += [
            calm.eq((threshold == NO_LIMIT) | (dut.occupancy < threshold)),
            invariant(dut.last == last, "last: another stream"),
        ]
        in_turn = ~c | (last == Origin.COMPUTE)
        urgent = due & (~compute_due | in_turn)
        may_pass = {
            Policy.COMPUTE_FIRST: ~c | urgent,
            Policy.MCA_PAPER: urgent | (~c & calm),
            Policy.MCA: urgent | (~c & (calm | ~dut.active)),
            Policy.CRITICAL: Mux(
                _urges(dut),
                ~c | ~compute_due | urgent,
                Mux(_yields(dut), urgent | (~c & calm), in_turn),
            ),
        }
        with m.Switch(config.policy):
            for policy, passes in may_pass.items():
                with m.Case(policy):
                    self._assert_choice(m, dut, policy.name, passes, m_moves)
            with m.Default():
                self._assert_choice(m, dut, "ROUND_ROBIN", in_turn, m_moves)
        both = ready & c & communication
        critical = _urges(dut) & (config.policy == Policy.CRITICAL)
        m.d.comb += [
            Assert(~ready | ~c | c_moves | m_moves, "compute waits without reason"),
            Cover(ready & ~c & communication & ~m_moves, "communication is held back"),
            Cover(both & critical & m_moves & ~due, "critical: communication goes first"),
            Cover(both & critical & c_moves & ~due, "critical: compute has waited for the limit"),
        ]

    def _assert_choice(
        self, m: Module, dut: Arbiter, name: str, passes: Value, m_moves: Value
    ) -> None:
        """Assert that communication goes if and only if the policy lets it pass."""
        offered = dut.communication.valid & dut.o.ready
        m.d.comb += [
            Assert(~m_moves | passes, f"{name}: communication goes without permission"),
            Assert(~offered | ~passes | m_moves, f"{name}: communication does not go"),
            Cover(offered & dut.compute.valid & ~m_moves, f"{name}: compute goes first"),
            Cover(m_moves, f"{name}: communication goes"),
        ]


def _urges(dut: Arbiter) -> Value:
    """Signal that communication is critical and the memory is not congested."""
    return dut.critical & ~dut.congested


def _yields(dut: Arbiter) -> Value:
    """Signal that communication has time in every context, and the memory is not congested."""
    return dut.relaxed & ~dut.critical & ~dut.congested


_CHANGING = ("policy", "automatic", "threshold", "measure_log2", "cuts", "levels")

PROOFS = (
    Proof(
        name="arbiter",
        statement="There is at most one grant; no request is lost, repeated or overtaken within "
        "its stream; each of the five policies decides as specified, and all other codes act as "
        "round robin; CRITICAL acts as round robin while the memory is congested or communication "
        "is neither critical nor relaxed; under every policy, and while software changes it, a "
        "request of compute loses at most as many cycles as the starvation limit, and one of "
        "communication at most one more; a limit of 0 acts like 1",
        blocks=(Arbiter,),
        harness=ArbiterHarness,
        geometry="reference",
        depth=2,
        cover_depth=8,
    ),
)
