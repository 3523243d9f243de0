"""Proof of the tracker bank: every tile fires once, when its contributions are complete, and no
update is lost.
"""

from functools import partial
from itertools import combinations, pairwise
from types import SimpleNamespace

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import TrackerInput
from rtl.parameters import T3Parameters
from rtl.tracker.bank import TrackerBank

from .proof import Proof
from .streams import assert_held, free, moves
from .tracker_bank_inside import relate

__all__ = ["PROOFS"]

_P = {
    contexts: T3Parameters(
        workgroup_bits=3,
        wavefronts=2,
        contexts=contexts,
        sets=2,
        ways=2,
        tile_atom_bits=2,
        share_bits=2,
        address_bits=11,
        regions=1,
    )
    for contexts in (1, 2)
}
_WRITES_NOTHING = (ErrorCode.SET_FULL, ErrorCode.NO_SHARE)
_FREES = (ErrorCode.OVERRUN, ErrorCode.COUNT_OVERFLOW)
_AGES = 3  # cycles from the arrival of an event to its update


def _set_of(dispatch_index: Value) -> Value:
    return dispatch_index[0]


def _tag_of(event) -> Value:
    return Cat(event.dispatch_index[1:], event.wavefront, event.owner)


def _is_one_of(code: Value, codes: tuple[ErrorCode, ...]) -> Value:
    return Cat(code == one for one in codes).any()


class TrackerBankHarness(Elaboratable):
    """Harness that observes one arbitrary tile in a table that all tiles share.

    ``ghost`` is the tile's state by the specification. ``live`` marks the tiles of its set that
    have an entry, from the bank's reports about their events. Events and clears of other contexts
    do not affect the ghost.

    As the front guarantees, an event comes only in the cycle after one with space. The ways of a
    context are arbitrary constants; two contexts have the same ways, or none in common.
    """

    def __init__(self, bank: type = TrackerBank, *, p: T3Parameters):
        self._bank = bank
        self._p = p

    def elaborate(self, platform):
        m = Module()
        p = self._p
        m.submodules.dut = dut = self._bank(p)
        free(m, dut.i.valid, dut.i.p, dut.o.ready, dut.clear)
        m.d.comb += [ways.eq(AnyConst(p.ways)) for ways in dut.ways]
        m.d.comb += [
            Assume((one == other) | ((one & other) == 0))
            for one, other in combinations(dut.ways, 2)
        ]
        had_space = Signal()
        m.d.sync += had_space.eq(dut.space)
        m.d.comb += Assume(~dut.i.valid | had_space)

        tile = SimpleNamespace(
            dispatch_index=Signal(p.dispatch_index_bits, name="dispatch_index"),
            wavefront=Signal(p.wavefront_bits, name="wavefront"),
            owner=Signal(p.owner_bits, name="owner"),
        )
        m.d.comb += [one.eq(AnyConst(len(one))) for one in vars(tile).values() if len(one)]
        tile.set, tile.tag = _set_of(tile.dispatch_index), _tag_of(tile)
        tile.clear = dut.clear.bit_select(tile.owner, 1)
        tile.clearing = dut.clearing.bit_select(tile.owner, 1)
        event = self._events(m, dut, tile)
        live = self._live(m, dut, event)
        ghost = self._ghost(m, dut, event, live, tile)
        self._assert_completions(m, dut, ghost, tile)
        m.d.comb += [
            Assert(event.updates | ~dut.error.valid, "an error without an event"),
            Assert(dut.space | dut.clearing.any() | dut.o.valid, "no space without reason"),
            Cover(~dut.space & ~dut.clearing.any() & dut.i.valid, "no space"),
        ]
        relate(m, dut, event=event, ghost=ghost, live=live, tile=tile, had_space=had_space)
        return m

    def _events(self, m: Module, dut, tile) -> SimpleNamespace:
        """Record arrived events up to their update; a clear removes them."""
        comes = [Signal(name=f"comes_{age}") for age in range(_AGES)]
        came = [Signal(TrackerInput(self._p), name=f"came_{age}") for age in range(_AGES)]
        m.d.sync += [
            *(
                comes[age + 1].eq(comes[age] & ~dut.clear.bit_select(came[age].owner, 1))
                for age in range(_AGES - 1)
            ),
            *(older.eq(newer) for newer, older in pairwise(came)),
            comes[0].eq(dut.i.valid & ~(dut.clearing | dut.clear).bit_select(dut.i.p.owner, 1)),
            came[0].eq(dut.i.p),
        ]
        now = came[-1]
        in_set, of_tile = Signal(), Signal()
        tag = _tag_of(now)
        m.d.comb += [
            in_set.eq(comes[-1] & (_set_of(now.dispatch_index) == tile.set)),
            of_tile.eq(in_set & (tag == tile.tag)),
        ]
        return SimpleNamespace(
            comes=comes,
            came=came,
            now=now,
            tag=tag,
            updates=comes[-1],
            in_set=in_set,
            of_tile=of_tile,
        )

    def _live(self, m: Module, dut, event) -> Signal:
        """Track the tiles of the set that have an entry; a walk removes the tiles of its contexts.

        A tile without an entry gets one if there is space.
        """
        live = Signal(1 << len(event.tag))
        here = live.bit_select(event.tag, 1)
        code = Mux(dut.error.valid, dut.error.report.code, ErrorCode.NONE)
        full = Signal(name="full")
        of_context = live.shape().width // self._p.contexts
        lives = [live[at : at + of_context] for at in range(0, len(live), of_context)]
        for owner, ways in enumerate(dut.ways):
            rivals = [
                Mux((other & ways).any() | (number == owner), sum(some), 0)
                for number, (other, some) in enumerate(zip(dut.ways, lives, strict=True))
            ]
            with m.If(event.now.owner == owner):
                m.d.comb += full.eq(sum(rivals) == sum(ways))
        leaves = dut.outcome.complete | _is_one_of(code, _FREES)
        with m.If(event.in_set):
            with m.If(~_is_one_of(code, _WRITES_NOTHING)):
                m.d.sync += here.eq(~leaves)
            m.d.comb += [
                Assert(
                    (code == ErrorCode.SET_FULL) == (full & ~here),
                    "refused despite space, or not refused in a full set",
                ),
            ]
        for forgotten, some in zip(dut.walk.forgetting, lives, strict=True):
            with m.If(forgotten):
                m.d.sync += some.eq(0)
        m.d.comb += [
            Assert(sum(live) <= self._p.ways, "more tiles than entries"),
            Cover(event.in_set & full & here & dut.outcome.complete, "a tile of a full set fires"),
        ]
        event.full = full
        return live

    def _ghost(self, m: Module, dut, event, live, tile) -> SimpleNamespace:
        """Compute the tile's entry by the specification, and the effect of each event."""
        p, now = self._p, event.now
        entry = {
            "has": Signal(name="has"),
            "known": Signal(name="known"),
            "missing": Signal(p.share_bits, name="missing"),
            "count": Signal(p.count_bits + 2, name="count"),
            "announced": Signal(p.count_bits, name="announced"),
            "start": Signal(p.atom_address_bits, name="start", init=-1),
            "edges": Signal(2, name="edges"),
        }
        ghost = SimpleNamespace(
            **entry, fires=Signal(name="fires"), completion=Signal.like(dut.o.p, name="completion")
        )
        after = {name: Signal.like(value, name=f"{name}_after") for name, value in entry.items()}
        missing, count, announced = Signal(p.share_bits), after["count"], after["announced"]
        whole, too_many = Signal(name="whole"), Signal(name="too_many")
        code, keeps = Signal(ErrorCode), Signal()
        m.d.comb += [
            missing.eq(Mux(now.end & ~ghost.known, now.total, ghost.missing)),
            too_many.eq(now.end & (now.shares > missing)),
            whole.eq(after["known"] & ~too_many & (after["missing"] == 0)),
            after["has"].eq(1),
            after["known"].eq(ghost.known | now.end),
            after["missing"].eq(missing - Mux(now.end, now.shares, 0)),
            count.eq(ghost.count + Mux(now.end, 0, now.count)),
            announced.eq(ghost.announced + Mux(now.end, now.tile_atoms, 0)),
            after["start"].eq(
                Mux(~now.end & (now.atom < ghost.start), now.atom, ghost.start),
            ),
            after["edges"].eq(Mux(now.end, Cat(now.outer_edge, now.inner_edge), ghost.edges)),
            ghost.completion.eq(
                Cat(
                    *(tile.owner, tile.dispatch_index, tile.wavefront),
                    *(after["start"], after["edges"]),
                )
            ),
        ]
        with m.If(event.of_tile):
            with m.If(~ghost.has & event.full):
                m.d.comb += code.eq(ErrorCode.SET_FULL)
            with m.Elif(now.end & (now.shares == 0)):
                m.d.comb += code.eq(ErrorCode.NO_SHARE)
            with m.Elif(count >= announced + (1 << p.count_bits)):
                m.d.comb += code.eq(ErrorCode.COUNT_OVERFLOW)
            with m.Elif(too_many | (whole & (count > announced))):
                m.d.comb += code.eq(ErrorCode.OVERRUN)
            with m.Elif(whole & (count == announced)):
                m.d.comb += ghost.fires.eq(1)
            with m.Else():
                m.d.comb += keeps.eq(1)
            report = dut.error.report
            m.d.comb += [
                Assert(dut.error.valid == (code != ErrorCode.NONE), "a missing or surplus error"),
                Assert(~dut.error.valid | (report.code == code), "a wrong error code"),
                Assert(
                    report.dispatch_index == tile.dispatch_index,
                    "an error with a wrong dispatch index",
                ),
                Assert(report.wavefront == tile.wavefront, "an error with a wrong wavefront"),
                Assert(report.owner == tile.owner, "an error with a wrong owner"),
            ]
        with m.If(keeps):
            m.d.sync += [value.eq(after[name]) for name, value in entry.items()]
        with m.If(ghost.fires | _is_one_of(code, _FREES) | tile.clear):
            m.d.sync += [value.eq(value.init) for value in entry.values()]

        self._cover_events(m, event, ghost, code, keeps)
        if p.contexts > 1:
            self._cover_others(m, dut, ghost, tile)
        return ghost

    def _cover_events(self, m: Module, event, ghost, code: Signal, keeps: Signal) -> None:
        """Cover every result of an event of the tile."""
        was_of_tile, both_of_tile = Signal(), Signal()
        m.d.sync += [
            was_of_tile.eq(event.of_tile & keeps),
            both_of_tile.eq(event.of_tile & keeps & was_of_tile),
        ]
        m.d.comb += [
            *(
                Cover(code == one, f"an event of the tile gives {one.name}")
                for one in (*_WRITES_NOTHING, *_FREES)
            ),
            Cover(ghost.fires & ~event.now.end & (ghost.count == 2), "fires at an update"),
            Cover(ghost.fires & event.now.end & both_of_tile, "fires at the third event in a row"),
            Cover(ghost.fires & event.now.end & ghost.known & ghost.count[0], "a second marker"),
            Cover(ghost.fires & ~ghost.has, "a tile without atoms fires"),
        ]

    def _cover_others(self, m: Module, dut, ghost, tile) -> None:
        """Cover a tile that fires after another context was cleared."""
        others = Signal.like(dut.clear, name="others")
        survives = Signal(name="survives")
        m.d.comb += others.eq(dut.walk.forgetting & ~(1 << tile.owner))
        with m.If(~ghost.has):
            m.d.sync += survives.eq(0)
        with m.Elif(others.any() & dut.walk.clears):
            m.d.sync += survives.eq(1)
        m.d.comb += Cover(survives & ghost.fires, "fires after another context was cleared")

    def _assert_completions(self, m: Module, dut, ghost, tile) -> None:
        """Assert that exactly the ghost's completions of the tile leave, once and in order."""
        ghost.due = due = Signal(range(10))
        ghost.follows, ghost.ahead = Signal(name="follows"), Signal.like(due, name="ahead")
        ghost.payload = Signal.like(ghost.completion, name="payload")
        leaves, first = Signal(), Signal()
        o = dut.o
        m.d.comb += [
            leaves.eq(
                moves(o)
                & (o.p.dispatch_index == tile.dispatch_index)
                & (o.p.wavefront == tile.wavefront)
                & (o.p.owner == tile.owner)
            ),
            first.eq(leaves & ghost.follows & (ghost.ahead == 0)),
        ]
        m.d.sync += due.eq(due + ghost.fires - leaves)
        with m.If(~ghost.follows):
            with m.If(AnySeq(1) & ghost.fires):
                m.d.sync += [
                    ghost.follows.eq(1),
                    ghost.ahead.eq(due - leaves),
                    ghost.payload.eq(ghost.completion),
                ]
        with m.Elif(leaves):
            m.d.sync += [ghost.ahead.eq(ghost.ahead - 1), ghost.follows.eq(ghost.ahead != 0)]
        assert_held(m, o, "o")
        m.d.comb += [
            Assert(~leaves | (due != 0), "fires early, twice, or after it was freed"),
            Assert((due == 0) | o.valid, "a complete tile does not fire"),
            Assert(~first | (o.p == ghost.payload), "fires with a wrong start or wrong edges"),
            Cover(leaves & ~ghost.has & (due == 1), "fires"),
            Cover(due == 2, "completes again before the first completion left"),
        ]


def _proof(p: T3Parameters) -> Proof:
    return Proof(
        name="tracker-bank" + ("" if p.contexts == 1 else f"-contexts-{p.contexts}"),
        statement="Each tile fires exactly once, when and only when its end-of-tile markers have "
        "all of its shares and all atoms that they announce are updated, with the smallest of "
        "these; no update and no share is lost or counted twice, in any order of events, and "
        "completions may wait arbitrarily long; a tile is refused with "
        "SET_FULL if and only if the ways of its context are full of other tiles of its set, and "
        "no entry is overwritten; every other error is reported if and only if it occurs; a clear "
        "removes the tiles of its contexts, and events and clears of other contexts have no effect",
        blocks=(TrackerBank,),
        harness=partial(TrackerBankHarness, p=p),
        geometry=f"2 sets of 2 entries, {8 * p.contexts} tiles for each set, counts to 15, "
        f"up to 3 shares, atoms of {p.atom_address_bits} bits, contexts: {p.contexts}, with "
        "arbitrary ways, the same or none in common",
        reason="sets and tiles are only compared with each other, and every hazard concerns two "
        "events of a set; counts are only added",
        depth=1,
        cover_depth=16 if p.contexts == 1 else 20,
        slow=True,
    )


PROOFS = tuple(map(_proof, _P.values()))
