"""Proof of the tracker's table: a row reflects all writes, also after a bit error."""

from types import SimpleNamespace

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from rtl.lib.secded import encode
from rtl.tracker.table import TrackerTable

from .injection import inject_freely
from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_ENTRY = data.StructLayout({"valid": 1, "content": 4})
_ROWS = 4
_WAYS = 2


def _code(entry: Value, turned: Value) -> Value:
    """Code word of an entry with inverted bits."""
    return Cat(entry, encode(entry)) ^ turned


class TrackerTableHarness(Elaboratable):
    """Harness that observes one arbitrary set and inverts bits of its entries in the memory.

    At most two bits of an entry are wrong at a time. As the bank guarantees, nothing is written
    while the table is cleared, or without ``may_write``.
    """

    def __init__(self, table: type = TrackerTable):
        self._table = table

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._table(_ENTRY, rows=_ROWS, ways=_WAYS)
        free(m, dut.read, dut.read_set, dut.write_set, dut.write, dut.scrub)
        free(m, dut.may_write, dut.write_ways)
        ask = self._ask(m, dut)
        injected = self._inject(m, dut)
        entries = [self._follow(m, dut, way, ask, injected) for way in range(_WAYS)]
        one, two = (Cat(entry.bit_errors == number for entry in entries) for number in (1, 2))
        two_before, held = Signal(_WAYS), Signal()
        m.d.sync += [two_before.eq(two), held.eq(dut.walk.holds)]
        m.d.comb += [
            Assert(
                ~ask.asked | (dut.corrected == one.any()),
                "corrected: differs from single-bit errors",
            ),
            Assert(
                ~ask.asked_before | (dut.lost == two_before), "lost: differs from double-bit errors"
            ),
            Cover(ask.asked & one.any() & two.any(), "one entry corrected and one lost"),
            Cover(held & dut.written_ways.any(), "the scrubber waits for a write of the traffic"),
            invariant(~dut.fixes.all(), "two ways restart at a time"),
            invariant(~(dut.walk.looks & dut.walk.holds), "two scrub steps at a time"),
            invariant(~(dut.walk.looks & dut.walk.looked), "two scrub reads in a row"),
            invariant(
                dut.writes_given == ~(dut.fixing | dut.clearing), "wrong source of the written word"
            ),
            invariant(~(dut.fixing & (dut.walk.looks | dut.walk.holds)), "overlapping scrub steps"),
            invariant(~(dut.fixing & dut.written_ways.any()), "two writes at a time"),
            invariant(~(dut.fixing & dut.earlier_ways.any()), "a write after the scrub read"),
            invariant(
                ~dut.clearing | ~(dut.walk.looks | dut.walk.holds | dut.fixing),
                "a scrub in the clear",
            ),
        ]
        return m

    def _inject(self, m: Module, dut) -> Signal:
        """Drive the injection port; return the bits inverted in a valid entry written now."""
        writes = Signal()
        m.d.sync += writes.eq(dut.write_ways.any() & dut.write.valid)
        written = dut.written_ways.any() & dut.written.valid & ~dut.clearing
        m.d.comb += invariant(writes == written, "writes of valid entries: differ")
        return inject_freely(m, dut.inject, dut.injector, writes)

    def _ask(self, m: Module, dut) -> SimpleNamespace:
        """Choose the observed set, with signals that it was read one or two cycles ago."""
        followed = Signal.like(dut.read_set)
        m.d.comb += [
            followed.eq(AnyConst(len(followed))),
            Assume(~(dut.clearing & dut.write_ways.any())),
            Assume(dut.may_write | ~dut.write_ways.any()),
        ]
        asked, asked_before = Signal(), Signal()
        m.d.sync += [
            asked.eq(dut.read & (dut.read_set == followed) & ~dut.clearing),
            asked_before.eq(asked),
        ]
        with m.If(asked):
            m.d.comb += [
                invariant(dut.checking & ~dut.clearing, "not read"),
                invariant(
                    ~dut.written_ways.any() | (dut.set_of_written == (dut.written_set == followed)),
                    "set of written",
                ),
            ]
        with m.If(dut.clearing):
            m.d.comb += invariant(~dut.written_ways.any(), "a write during the clear")
        return SimpleNamespace(followed=followed, asked=asked, asked_before=asked_before)

    def _follow(
        self, m: Module, dut, way: int, ask: SimpleNamespace, injected: Signal
    ) -> SimpleNamespace:
        """Observe an entry of the set: ``latest`` after all writes, and its ``wrong`` memory bits.

        A write reaches the memory two cycles later.
        """
        code_bits = dut.entries[way].shape.size

        def ghost(name: str, width: int = 1) -> Signal:
            return Signal(width, name=f"{name}_{way}")

        entry = SimpleNamespace(
            way=way,
            latest=ghost("latest", _ENTRY.size),
            kept=ghost("kept", _ENTRY.size),
            kept_then=ghost("kept_then", _ENTRY.size),
            wrong=ghost("wrong", code_bits),
            wrong_then=ghost("wrong_then", code_bits),
            bit_errors=Signal(range(code_bits + 1), name=f"bit_errors_{way}"),
            # Written in the previous cycle, and in the cycle before, when the last read began.
            fresh=ghost("fresh"),
            fresh_then=ghost("fresh_then"),
            stored=dut.entries[way].read_port(domain="comb"),
            injected=injected,
        )
        self._remember(m, dut, entry, ask.followed)
        self._assert_row(m, dut, entry, ask)
        self._relate_memory(m, dut, entry, ask.followed)
        self._relate_read(m, dut, entry, ask.asked)
        self._relate_scrubber(m, dut, entry, ask.followed)
        return entry

    def _remember(self, m: Module, dut, entry: SimpleNamespace, followed: Signal) -> None:
        """Write the entry, clear it, and invert its bits in the memory."""
        turn = dut.entries[entry.way].write_port()
        turns = Signal.like(entry.wrong, name=f"turns_{entry.way}")
        writes = dut.write_ways[entry.way] & (dut.write_set == followed)
        scrubs = Signal(name=f"patrols_{entry.way}")
        free(m, turn.en, turns)
        m.d.comb += [
            entry.stored.addr.eq(followed),
            turn.addr.eq(followed),
            Value.cast(turn.data).eq(entry.stored.data.as_value() ^ turns),
            scrubs.eq(dut.scrub_corrected & (dut.walk.row == followed) & dut.fixes[entry.way]),
            Assume(~(turn.en & (entry.fresh | dut.clearing | scrubs))),
            Cover(scrubs & (entry.wrong != 0), f"{entry.way}: the scrubber corrects"),
            Assume(sum(entry.wrong) <= 2),
        ]
        m.d.sync += [
            entry.fresh.eq(writes),
            entry.fresh_then.eq(entry.fresh),
            entry.kept.eq(entry.latest),
            entry.kept_then.eq(entry.kept),
            entry.wrong_then.eq(entry.wrong),
        ]
        with m.If(turn.en):
            m.d.sync += entry.wrong.eq(entry.wrong ^ turns)
        with m.If(scrubs):
            m.d.sync += entry.wrong.eq(0)
        with m.If(entry.fresh):
            is_valid = data.View(_ENTRY, entry.latest).valid
            m.d.sync += entry.wrong.eq(Mux(is_valid, entry.injected, 0))
        with m.If(writes):
            m.d.sync += entry.latest.eq(dut.write)

    def _assert_row(self, m: Module, dut, entry: SimpleNamespace, ask: SimpleNamespace) -> None:
        """Assert the contract for one entry of the row."""
        way, row = entry.way, dut.row[entry.way]
        wanted = Signal.like(entry.latest, name=f"wanted_{way}")
        wrong_before = Signal.like(entry.bit_errors, name=f"wrong_before_{way}")
        # A fresh entry is not read from the memory.
        with m.If(~(entry.fresh | entry.fresh_then)):
            m.d.comb += entry.bit_errors.eq(sum(entry.wrong_then))
        m.d.sync += [wanted.eq(entry.latest), wrong_before.eq(entry.bit_errors)]
        with m.If(ask.asked_before):
            m.d.comb += [
                Assert(
                    (wrong_before == 2) | (row.as_value() == wanted),
                    f"{way}: the read entry differs from the written one",
                ),
                Assert((wrong_before != 2) | ~row.valid, f"{way}: a lost entry is valid"),
                Cover((wrong_before == 1) & wanted.any(), f"{way}: an entry is corrected"),
            ]
        with m.If(ask.asked):
            written_twice = entry.fresh & entry.fresh_then & (entry.latest != entry.kept)
            m.d.comb += Cover(written_twice, f"{way}: written twice")

    def _relate_memory(self, m: Module, dut, entry: SimpleNamespace, followed: Signal) -> None:
        """Relate the stored entry to the memory, and a fresh entry to the write registers."""
        way, fresh, latest, kept = entry.way, entry.fresh, entry.latest, entry.kept
        with m.If(~dut.clearing | (followed < dut.clear_row)):
            m.d.comb += invariant(
                entry.stored.data.as_value() == _code(kept, entry.wrong),
                f"{way}: stored entry",
            )
        with m.If(dut.clearing):
            m.d.comb += invariant(
                ~(latest.any() | kept.any() | entry.wrong.any() | fresh), f"{way}: not cleared"
            )
        with m.Else():
            m.d.comb += [
                invariant(
                    fresh == (dut.written_ways[way] & (dut.written_set == followed)),
                    f"{way}: fresh",
                ),
                invariant(~fresh | (dut.written.as_value() == latest), f"{way}: written entry"),
                invariant(fresh | (kept == latest), f"{way}: latest entry"),
            ]

    def _relate_read(self, m: Module, dut, entry: SimpleNamespace, asked: Signal) -> None:
        """Relate the read entry to the entry stored at that time and to earlier writes."""
        way, fresh_then, kept_then = entry.way, entry.fresh_then, entry.kept_then
        read = dut.read_ports[way].data.as_value()
        m.d.comb += invariant(sum(entry.wrong_then) <= 2, f"{way}: more than two bit errors")
        with m.If(asked):
            earlier = dut.set_of_earlier & dut.earlier_ways[way]
            m.d.comb += [
                invariant(read == _code(kept_then, entry.wrong_then), f"{way}: read entry"),
                invariant(earlier == fresh_then, f"{way}: earlier write"),
                invariant(
                    ~fresh_then | (dut.earlier.as_value() == entry.kept),
                    f"{way}: earlier entry",
                ),
                invariant(fresh_then | (kept_then == entry.kept), f"{way}: entry stored then"),
            ]

    def _relate_scrubber(self, m: Module, dut, entry: SimpleNamespace, followed: Signal) -> None:
        """Relate the scrubber's copies of the observed set to the ghost state."""
        way, walk, here = entry.way, dut.walk, dut.walk.row == followed
        read = dut.read_ports[way].data.as_value()
        code = _code(entry.kept_then, entry.wrong_then)
        with m.If(~dut.clearing):
            m.d.comb += [
                invariant(
                    ~(walk.looks & here) | (read == code), f"{way}: entry read by the scrubber"
                ),
                invariant(
                    ~entry.fresh_then | dut.earlier_ways[way], f"{way}: missing earlier write"
                ),
                invariant(
                    entry.fresh_then | (entry.kept_then == entry.kept),
                    f"{way}: stored entry changed",
                ),
                invariant(
                    ~(walk.holds & here & dut.wrong[way]) | (dut.row[way].as_value() == entry.kept),
                    f"{way}: entry held by the scrubber",
                ),
                invariant(
                    ~(dut.fixing & here & dut.fixes[way]) | (dut.fixed.as_value() == entry.kept),
                    f"{way}: entry written by the scrubber",
                ),
            ]


PROOFS = (
    Proof(
        name="tracker-table",
        statement="A read row reflects all writes up to and including the cycle of the read; a "
        "single-bit error of an entry is corrected, and an entry with a double-bit error appears "
        "as not valid and is reported as lost; an injection inverts only the lowest bit, or the "
        "two lowest bits, of the next valid written entry; the scrubber's writes preserve every "
        "entry and remove its bit errors; after a reset the table is empty",
        blocks=(TrackerTable,),
        harness=TrackerTableHarness,
        geometry=f"{_ROWS} sets of {_WAYS} entries of {_ENTRY.size} bits",
        reason="check-bits and check-syndrome cover every width; sets are only compared with each "
        "other, and ways are independent",
        depth=1,
        cover_depth=12,
        slow=True,
    ),
)
