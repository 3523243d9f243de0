"""Proof of the range limits: they are never above what a peer has admitted."""

from types import SimpleNamespace

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal, Value, signed

from rtl.interface.encodings import Action
from rtl.parameters import T3Parameters
from rtl.trigger.range_limits import RangeLimits

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS", "relate_rest", "relate_steps"]

_P = T3Parameters(contexts=1, sets=1, ways=2, workgroup_bits=3, credit_window=2, ranges=3, peers=2)
_BITS = _P.credit_limit_bits
_MOST = (1 << _BITS) - 1


class RangeLimitsHarness(Elaboratable):
    """Harness that observes one range and one of its peers, which may be any.

    The ranges are arbitrary constants; all other inputs are arbitrary, also the strobe of changes,
    and bounds may even fall.
    """

    def __init__(self, limits: type = RangeLimits):
        self._limits = limits

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._limits(_P)
        free(m, dut.admitted, dut.credit_limit, dut.changes, dut.launch, dut.aborting)
        m.d.comb += dut.ranges.eq(AnyConst(len(Value.cast(dut.ranges))))
        number, peer = Signal(range(_P.ranges)), Signal(range(_P.peers))
        m.d.comb += [number.eq(AnyConst(len(number))), peer.eq(AnyConst(len(peer)))]
        seen = self._observe(m, dut, number, peer)
        with m.If((number < _P.ranges) & seen.is_peer):
            self._assert(m, dut, number, seen)
        relate_steps(m, dut)
        relate_rest(m, dut)
        return m

    def _observe(self, m: Module, dut, number: Signal, peer: Signal) -> SimpleNamespace:
        """Record the highest bound of the peer since the launch, and what it allows."""
        entry = Signal.like(dut.ranges[0], name="entry")
        most, now = Signal(_BITS, name="most"), Signal(_BITS, name="now")
        credit, offset = Signal(_BITS, name="credit"), Signal(signed(_BITS), name="offset")
        difference = Signal(signed(_BITS + 2), name="difference")
        limit, cap = Signal(_BITS, name="highest_limit"), Signal(_BITS, name="highest_dispatch")
        m.d.comb += [
            entry.eq(dut.ranges[number]),
            now.eq(dut.admitted[peer]),
            offset.eq(entry.slot_offset),
            difference.eq(most - offset),
        ]
        with m.If(dut.launch | dut.aborting):
            m.d.sync += [most.eq(0), credit.eq(0)]
        with m.Else():
            m.d.sync += [
                most.eq(Mux(now > most, now, most)),
                credit.eq(Mux(dut.credit_limit > credit, dut.credit_limit, credit)),
            ]
        with m.If((most == 0) | (difference < 0)):
            m.d.comb += limit.eq(0)
        with m.Elif((most == _MOST) | (difference > _MOST)):
            m.d.comb += limit.eq(_MOST)
        with m.Else():
            m.d.comb += limit.eq(difference)
        bound = Mux(entry.action == Action.REMOTE, limit, credit)
        waits = entry.enable & (entry.action != Action.NONE) & (bound <= entry.last)
        m.d.comb += cap.eq(Mux(waits, Mux(bound < entry.first, entry.first, bound), _MOST))
        sends = (entry.action == Action.REMOTE) | (entry.action == Action.DMA)
        return SimpleNamespace(
            is_peer=entry.peers.bit_select(peer, 1),
            most=most,
            limit=Mux(sends, limit, _MOST),
            dispatch=cap,
        )

    def _assert(self, m: Module, dut, number: Signal, seen: SimpleNamespace) -> None:
        def at(turn: Signal) -> Value:
            return turn.bit_select(number, 1)

        beyond = (dut.merged >> number)[1:].any()  # a later range of the walk
        m.d.comb += [
            Assert(dut.limits[number] <= seen.limit, "a limit above the peer's bound"),
            Assert(dut.dispatch_limit <= seen.dispatch, "dispatched without credit"),
            invariant(~at(dut.chosen) | (dut.least <= seen.most), "least: above the bound"),
            invariant(~at(dut.merged) | (dut.term <= seen.dispatch), "term: too high"),
            invariant(~beyond | (dut.lowest <= seen.dispatch), "lowest: too high"),
            Cover((dut.limits[number] == 3) & (seen.limit == 3), "a limit"),
            Cover((dut.dispatch_limit == 2) & (seen.dispatch == 2), "a dispatch limit"),
        ]


def relate_steps(m: Module, dut: RangeLimits) -> None:
    """Relate the steps: each follows the one before by a range."""
    for turn in (dut.turn, dut.chosen, dut.merged):
        m.d.comb += invariant((turn & (turn - 1)[: len(turn)]) == 0, f"{turn.name}: one-hot")
    for first, second in ((dut.turn, dut.chosen), (dut.chosen, dut.merged)):
        m.d.comb += invariant(
            ~first[1:].any() | (first == (second << 1)[: len(first)]),
            f"{first.name}: not behind {second.name}",
        )
        m.d.comb += invariant(
            ~second[:-1].any() | (first == (second << 1)[: len(first)]),
            f"{first.name}: does not follow {second.name}",
        )


def relate_rest(m: Module, dut: RangeLimits) -> None:
    """Relate the registers of a unit at rest: without a launch, and without a change."""
    rests = (Value.cast(dut.limits) == 0) & (dut.dispatch_limit == 0)
    m.d.comb += [
        invariant(dut.launched | rests, "limits without a launch"),
        invariant(dut.launched | ~(dut.turn | dut.chosen | dut.merged).any(), "walks unlaunched"),
        invariant(~dut.fresh | dut.turn.any(), "fresh: without a walk"),
    ]


PROOFS = (
    Proof(
        name="range-limits",
        statement="Since a launch began, no limit of a range exceeds what any of its peers has "
        "admitted, and no dispatch limit exceeds what a range's peers or the context's own credit "
        "have admitted; without a launch all limits are 0",
        blocks=(RangeLimits,),
        harness=RangeLimitsHarness,
        geometry="dispatch indices of 3 bits, 3 ranges, 2 peers",
        reason="the numbers are only added and compared",
        depth=1,
        cover_depth=12,
    ),
)
