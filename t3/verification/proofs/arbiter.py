"""Arbiter: one grant, nothing lost, compute does not wait, communication does not starve."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.channel.arbitration.arbiter import Arbiter
from rtl.channel.arbitration.measurement import NO_LIMIT
from rtl.interface.encodings import Origin, Policy
from rtl.parameters import T3Parameters

from .invariant import invariant
from .proof import Proof
from .streams import free, moves

__all__ = ["PROOFS"]


class ArbiterHarness(Elaboratable):
    """Both streams and the queue behind do what they like.

    The configuration may change in every cycle, but for the starvation limit, which is any
    constant. Each stream numbers its requests, so that what leaves can be told apart. A measured
    threshold is taken from the block: how it is measured is not proven here.
    """

    def __init__(self, arbiter: type = Arbiter):
        self._arbiter = arbiter

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._arbiter(T3Parameters())
        compute, communication, o = dut.compute, dut.communication, dut.o
        free(m, dut.occupancy, dut.start, o.ready)
        free(m, compute.valid, compute.p, communication.valid, communication.p)
        free(m, *(dut.configuration[name] for name in _CHANGING))
        limit = Signal(16)
        m.d.comb += [limit.eq(AnyConst(16)), dut.configuration.starvation_limit.eq(limit)]

        c_moves, m_moves = Signal(), Signal()
        m.d.comb += [c_moves.eq(moves(compute)), m_moves.eq(moves(communication))]
        self._assert_one_grant(m, dut, c_moves, m_moves)
        self._assert_order(m, dut)

        # How long the communication request waits, and in how many of these cycles it could go.
        waited, lost = Signal(16), Signal(17)
        due, mca = Signal(), Signal()
        m.d.comb += [
            due.eq(waited >= limit),
            mca.eq(dut.configuration.policy == Policy.MCA),
        ]
        with m.If(communication.valid & ~m_moves):
            m.d.sync += waited.eq(Mux(waited == 0xFFFF, waited, waited + 1))
            with m.If(mca & o.ready):
                m.d.sync += lost.eq(lost + 1)
        with m.Else():
            m.d.sync += [waited.eq(0), lost.eq(0)]
        m.d.comb += [
            Assert(lost <= limit, "communication waits for longer than the limit under MCA"),
            Cover((limit == 3) & (lost == limit), "the starvation limit is reached"),
            Cover(mca & (lost == 3) & compute.valid & m_moves, "the starvation rule acts"),
            invariant(dut.starved == waited, "the block counts another time"),
            invariant(lost <= waited, "more lost than waited"),
        ]
        self._assert_policies(m, dut, due, c_moves, m_moves)
        return m

    def _assert_one_grant(self, m: Module, dut: Arbiter, c_moves: Value, m_moves: Value) -> None:
        """What leaves is what one stream offers, and that stream alone is told so."""
        o = dut.o
        m.d.comb += [
            Assert(~(dut.compute.ready & dut.communication.ready), "two grants"),
            Assert((c_moves | m_moves) == moves(o), "not one taken for one given"),
            Assert(~c_moves | (o.p == dut.compute.p), "compute's request changes"),
            Assert(~m_moves | (o.p == dut.communication.p), "communication's request changes"),
        ]

    def _assert_order(self, m: Module, dut: Arbiter) -> None:
        """Each stream's requests leave in their order: none is missing, none comes twice."""
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
                Assert(~gives | (dut.o.p.tag == given), f"{name}: lost, twice, or out of order"),
                invariant(taken == given, f"{name}: not as many given as taken"),
            ]

    def _assert_policies(
        self, m: Module, dut: Arbiter, due: Value, c_moves: Value, m_moves: Value
    ) -> None:
        """Who goes, by the policy."""
        config = dut.configuration
        c, room = dut.compute.valid, dut.o.ready
        last = Signal(Origin, init=Origin.COMMUNICATION)
        with m.If(moves(dut.o)):
            m.d.sync += last.eq(dut.o.p.origin)
        threshold = Mux(config.automatic, dut.measurement.measured, config.threshold)
        calm = Signal()
        both = Signal()
        m.d.comb += [
            calm.eq((threshold == NO_LIMIT) | (dut.occupancy < threshold)),
            both.eq(c & dut.communication.valid),
            invariant(dut.last == last, "the block takes another one for the last"),
        ]
        waits_in_vain = room & c & ~c_moves
        with m.Switch(config.policy):
            with m.Case(Policy.MCA):
                m.d.comb += [
                    Assert(~waits_in_vain | (m_moves & due), "MCA: compute waits before the limit"),
                    Assert(~m_moves | due | calm, "MCA: communication passes a long DRAM queue"),
                    Assert(
                        ~(room & ~c & dut.communication.valid & calm) | m_moves,
                        "MCA: communication waits for nothing",
                    ),
                    Cover(room & ~c & dut.communication.valid & ~m_moves, "held back"),
                    Cover(both & m_moves & due, "urgent"),
                ]
            with m.Case(Policy.COMPUTE_FIRST):
                m.d.comb += [
                    Assert(~waits_in_vain, "compute first: compute waits"),
                    Assert(~room | c | ~dut.communication.valid | m_moves, "compute first: idle"),
                ]
            with m.Default():
                m.d.comb += [
                    Assert(
                        ~(both & room) | (m_moves == (last == Origin.COMPUTE)),
                        "round robin: twice the same while both wait",
                    ),
                    Assert(
                        ~room | ~(c | dut.communication.valid) | moves(dut.o), "round robin: idle"
                    ),
                    Cover(both & room & m_moves, "communication has its turn"),
                ]


_CHANGING = ("policy", "automatic", "threshold", "measure_log2", "cuts", "levels")

PROOFS = (
    Proof(
        name="arbiter",
        statement="At most one grant; no request lost, doubled or overtaken within its stream; "
        "under MCA compute waits for communication only by the starvation rule, and communication "
        "loses at most as many cycles as the starvation limit; the other policies as specified",
        blocks=(Arbiter,),
        harness=ArbiterHarness,
        geometry="the reference's",
        depth=2,
        cover_depth=8,
    ),
)
