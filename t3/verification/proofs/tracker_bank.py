"""Tracker bank: every tile fires once, exactly at its threshold, and no update is lost."""

from itertools import pairwise
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

_P = T3Parameters(
    workgroup_bits=3, wavefronts=2, sets=2, ways=2, tile_atom_bits=2, address_bits=7, regions=1
)
_WRITES_NOTHING = (ErrorCode.SET_FULL, ErrorCode.ZERO_THRESHOLD, ErrorCode.SECOND_END_OF_TILE)
_FREES = (ErrorCode.OVERRUN, ErrorCode.COUNT_OVERFLOW)
_AGES = 3  # cycles from an event's coming to its update


def _set_of(dispatch_index: Value) -> Value:
    return dispatch_index[0]


def _tag_of(dispatch_index: Value, wavefront: Value) -> Value:
    return Cat(dispatch_index[1:], wavefront)


def _is_one_of(code: Value, codes: tuple[ErrorCode, ...]) -> Value:
    return Cat(code == one for one in codes).any()


class TrackerBankHarness(Elaboratable):
    """Follows one tile, whichever, in a table that all others use, too.

    What the specification makes of the tile's events is its ``ghost``. Which tiles of its set have
    an entry, ``live``, is taken from what the bank tells about their events.

    Assumed, as the front guarantees it: an event comes only in the cycle after one with room.
    """

    def __init__(self, bank: type = TrackerBank):
        self._bank = bank

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._bank(_P)
        free(m, dut.i.valid, dut.i.p, dut.o.ready, dut.updates_per_atom, dut.clear)
        had_room = Signal()
        m.d.sync += had_room.eq(dut.room)
        m.d.comb += Assume(~dut.i.valid | had_room)

        dispatch_index, wavefront = Signal(_P.dispatch_index_bits), Signal(_P.wavefront_bits)
        m.d.comb += [one.eq(AnyConst(len(one))) for one in (dispatch_index, wavefront)]
        tile = SimpleNamespace(
            dispatch_index=dispatch_index,
            wavefront=wavefront,
            set=_set_of(dispatch_index),
            tag=_tag_of(dispatch_index, wavefront),
        )
        event = self._events(m, dut, tile)
        live = self._live(m, dut, event)
        ghost = self._ghost(m, dut, event, live, tile)
        self._assert_completions(m, dut, ghost, tile)
        m.d.comb += [
            Assert(event.updates | ~dut.error.valid, "an error of no event"),
            Assert(dut.room | dut.clearing | dut.o.valid, "no room, for nothing"),
            Cover(~dut.room & ~dut.clearing & dut.i.valid, "no room"),
        ]
        relate(m, dut, event=event, ghost=ghost, live=live, tile=tile, had_room=had_room)
        return m

    def _events(self, m: Module, dut, tile) -> SimpleNamespace:
        """What came, on its way to the update; a clear catches it there."""
        comes = [Signal(name=f"comes_{age}") for age in range(_AGES)]
        came = [Signal(TrackerInput(_P), name=f"came_{age}") for age in range(_AGES)]
        threshold = Signal(_P.count_bits, name="event_threshold")
        m.d.sync += [
            *(older.eq(newer & ~dut.clear) for newer, older in pairwise(comes)),
            *(older.eq(newer) for newer, older in pairwise(came)),
            comes[0].eq(dut.i.valid & ~dut.clearing & ~dut.clear),
            came[0].eq(dut.i.p),
            threshold.eq(came[1].tile_atoms * dut.updates_per_atom),
        ]
        now = came[-1]
        in_set, of_tile = Signal(), Signal()
        tag = _tag_of(now.dispatch_index, now.wavefront)
        m.d.comb += [
            in_set.eq(comes[-1] & (_set_of(now.dispatch_index) == tile.set)),
            of_tile.eq(in_set & (tag == tile.tag)),
        ]
        return SimpleNamespace(
            comes=comes,
            came=came,
            now=now,
            tag=tag,
            threshold=threshold,
            updates=comes[-1],
            in_set=in_set,
            of_tile=of_tile,
        )

    def _live(self, m: Module, dut, event) -> Signal:
        """The tiles of the set that have an entry; one that has none gets one if there is room."""
        live = Signal(1 << len(event.tag))
        here = live.bit_select(event.tag, 1)
        code = Mux(dut.error.valid, dut.error.report.code, ErrorCode.NONE)
        full = sum(live) == _P.ways
        leaves = dut.outcome.complete | _is_one_of(code, _FREES)
        with m.If(event.in_set):
            with m.If(~_is_one_of(code, _WRITES_NOTHING)):
                m.d.sync += here.eq(~leaves)
            m.d.comb += [
                Assert(
                    (code == ErrorCode.SET_FULL) == (full & ~here),
                    "refused though there is room, or not refused in a full set",
                ),
            ]
        with m.If(dut.clear):
            m.d.sync += live.eq(0)
        m.d.comb += [
            Assert(sum(live) <= _P.ways, "more tiles than entries"),
            Cover(event.in_set & full & here & dut.outcome.complete, "one of a full set fires"),
        ]
        return live

    def _ghost(self, m: Module, dut, event, live, tile) -> SimpleNamespace:
        """The tile by the specification: its entry, and what becomes of it."""
        now = event.now
        entry = {
            "has": Signal(name="has"),
            "ended": Signal(name="ended"),
            "count": Signal(_P.count_bits, name="count"),
            "threshold": Signal(_P.count_bits, name="threshold"),
            "start": Signal(_P.atom_address_bits, name="start", init=-1),
            "edges": Signal(2, name="edges"),
        }
        ghost = SimpleNamespace(
            **entry, fires=Signal(name="fires"), completion=Signal.like(dut.o.p, name="completion")
        )
        after = {name: Signal.like(value, name=f"{name}_after") for name, value in entry.items()}
        total = Signal(_P.count_bits + 1)
        code, keeps = Signal(ErrorCode), Signal()
        m.d.comb += [
            total.eq(ghost.count + Mux(now.end, 0, now.count)),
            after["has"].eq(1),
            after["ended"].eq(ghost.ended | now.end),
            after["count"].eq(total),
            after["threshold"].eq(Mux(now.end, event.threshold, ghost.threshold)),
            after["start"].eq(
                Mux(~now.end & (now.atom < ghost.start), now.atom, ghost.start),
            ),
            after["edges"].eq(Mux(now.end, Cat(now.outer_edge, now.inner_edge), ghost.edges)),
            ghost.completion.eq(
                Cat(tile.dispatch_index, tile.wavefront, after["start"], after["edges"])
            ),
        ]
        with m.If(event.of_tile):
            with m.If(~ghost.has & (sum(live) == _P.ways)):
                m.d.comb += code.eq(ErrorCode.SET_FULL)
            with m.Elif(now.end & (now.tile_atoms == 0)):
                m.d.comb += code.eq(ErrorCode.ZERO_THRESHOLD)
            with m.Elif(now.end & ghost.ended):
                m.d.comb += code.eq(ErrorCode.SECOND_END_OF_TILE)
            with m.Elif(after["ended"] & (total == after["threshold"])):
                m.d.comb += ghost.fires.eq(1)
            with m.Elif(after["ended"] & (total > after["threshold"])):
                m.d.comb += code.eq(ErrorCode.OVERRUN)
            with m.Elif(total >= 1 << _P.count_bits):
                m.d.comb += code.eq(ErrorCode.COUNT_OVERFLOW)
            with m.Else():
                m.d.comb += keeps.eq(1)
            report = dut.error.report
            m.d.comb += [
                Assert(dut.error.valid == (code != ErrorCode.NONE), "an error or none, wrongly"),
                Assert(~dut.error.valid | (report.code == code), "another error"),
                Assert(
                    report.dispatch_index == tile.dispatch_index,
                    "an error of another dispatch index",
                ),
                Assert(report.wavefront == tile.wavefront, "an error of another wavefront"),
            ]
        with m.If(keeps):
            m.d.sync += [value.eq(after[name]) for name, value in entry.items()]
        with m.If(ghost.fires | _is_one_of(code, _FREES) | dut.clear):
            m.d.sync += [value.eq(value.init) for value in entry.values()]

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
            Cover(ghost.fires & ~now.end & (ghost.count == 2), "fires at an update"),
            Cover(ghost.fires & now.end & both_of_tile, "the third event in a row makes it fire"),
        ]
        return ghost

    def _assert_completions(self, m: Module, dut, ghost, tile) -> None:
        """What the ghost fires leaves once, in order, and nothing else of the tile does."""
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
            Assert(~leaves | (due != 0), "fires before its threshold, or twice, or when freed"),
            Assert((due == 0) | o.valid, "a complete tile does not fire"),
            Assert(~first | (o.p == ghost.payload), "fires with another start or other edges"),
            Cover(leaves & ~ghost.has & (due == 1), "fires"),
            Cover(due == 2, "complete again before the first completion left"),
        ]


PROOFS = (
    Proof(
        name="tracker-bank",
        statement="Each tile fires once for each time that its updates reach the threshold which "
        "its end-of-tile marker told, with the smallest of their atoms, and never otherwise, so "
        "not when its "
        "entry was freed; no update is lost or counted twice, whatever comes behind whatever, and "
        "completions may wait for as long as they like; a tile is refused with SET_FULL if and "
        "only if as many others of its set are live as there are ways, and no entry is "
        "overwritten; every other error is told if and only if it happens",
        blocks=(TrackerBank,),
        harness=TrackerBankHarness,
        geometry="2 sets of 2 entries, 8 tiles for each set, counts to 15, atoms of 2 bits",
        reason="Sets and tiles are only compared with each other, and every hazard is between "
        "two events of a set; the width of the counts is that of a sum",
        depth=1,
        cover_depth=16,
        slow=True,
    ),
)
