"""The tracker's table: a row is as all writes have left it, also when a bit turns meanwhile."""

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
    """The code word of an entry, with bits turned."""
    return Cat(entry, encode(entry)) ^ turned


class TrackerTableHarness(Elaboratable):
    """Follows one set, whichever, and turns bits of its entries through ports of its own.

    Assumed: no more than two bits of an entry are wrong at a time, and, as the bank guarantees it,
    nothing is written while the table is cleared, or without ``may_write``.
    """

    def __init__(self, table: type = TrackerTable):
        self._table = table

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._table(_ENTRY, rows=_ROWS, ways=_WAYS)
        free(m, dut.read, dut.read_set, dut.write_set, dut.write, dut.patrol)
        free(m, dut.may_write, dut.write_ways)
        ask = self._ask(m, dut)
        injected = self._inject(m, dut)
        entries = [self._follow(m, dut, way, ask, injected) for way in range(_WAYS)]
        one, two = (Cat(entry.wrong_bits == number for entry in entries) for number in (1, 2))
        two_before, held = Signal(_WAYS), Signal()
        m.d.sync += [two_before.eq(two), held.eq(dut.walk.holds)]
        m.d.comb += [
            Assert(
                ~ask.asked | (dut.corrected == one.any()), "corrected: not if one bit was wrong"
            ),
            Assert(
                ~ask.asked_before | (dut.lost == two_before), "lost: not where two bits were wrong"
            ),
            Cover(ask.asked & one.any() & two.any(), "an entry corrected, one lost"),
            Cover(held & dut.written_ways.any(), "the patrol gives way"),
            invariant(~dut.fixes.all(), "two ways at a time"),
            invariant(~(dut.walk.looks & dut.walk.holds), "two steps at a time"),
            invariant(~(dut.walk.looks & dut.walk.looked), "a look after a look"),
            invariant(
                dut.writes_given == ~(dut.fixing | dut.clearing), "another word than the choice's"
            ),
            invariant(~(dut.fixing & (dut.walk.looks | dut.walk.holds)), "a step too early"),
            invariant(~(dut.fixing & dut.written_ways.any()), "two write"),
            invariant(~(dut.fixing & dut.earlier_ways.any()), "written since"),
            invariant(~dut.clearing | ~(dut.walk.looks | dut.walk.holds | dut.fixing), "too early"),
        ]
        return m

    def _inject(self, m: Module, dut) -> Signal:
        """Bits that are wrong in an entry which is written in this cycle, if it is valid."""
        writes = Signal()
        m.d.sync += writes.eq(dut.write_ways.any() & dut.write.valid)
        written = dut.written_ways.any() & dut.written.valid & ~dut.clearing
        m.d.comb += invariant(writes == written, "a valid entry is written, or not")
        return inject_freely(m, dut.inject, dut.injector, writes)

    def _ask(self, m: Module, dut) -> SimpleNamespace:
        """The followed set, and whether it was asked for in the last cycle, or the one before."""
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
            m.d.comb += invariant(~dut.written_ways.any(), "a write beside the clearing")
        return SimpleNamespace(followed=followed, asked=asked, asked_before=asked_before)

    def _follow(
        self, m: Module, dut, way: int, ask: SimpleNamespace, injected: Signal
    ) -> SimpleNamespace:
        """An entry of the set: ``latest``, as all writes so far have left it, and which bits are
        ``wrong`` in the memory, which a write reaches two cycles after it was given."""
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
            wrong_bits=Signal(range(code_bits + 1), name=f"wrong_bits_{way}"),
            # Written in the cycle before; and in the one before, as the last read began.
            fresh=ghost("fresh"),
            fresh_then=ghost("fresh_then"),
            stored=dut.entries[way].read_port(domain="comb"),
            injected=injected,
        )
        self._remember(m, dut, entry, ask.followed)
        self._assert_row(m, dut, entry, ask)
        self._relate_memory(m, dut, entry, ask.followed)
        self._relate_read(m, dut, entry, ask.asked)
        self._relate_patrol(m, dut, entry, ask.followed)
        return entry

    def _remember(self, m: Module, dut, entry: SimpleNamespace, followed: Signal) -> None:
        """Write the entry, clear it, and turn bits of it in the memory."""
        turn = dut.entries[entry.way].write_port()
        turns = Signal.like(entry.wrong, name=f"turns_{entry.way}")
        writes = dut.write_ways[entry.way] & (dut.write_set == followed)
        patrols = Signal(name=f"patrols_{entry.way}")
        free(m, turn.en, turns)
        m.d.comb += [
            entry.stored.addr.eq(followed),
            turn.addr.eq(followed),
            Value.cast(turn.data).eq(entry.stored.data.as_value() ^ turns),
            patrols.eq(dut.patrolled & (dut.walk.row == followed) & dut.fixes[entry.way]),
            Assume(~(turn.en & (entry.fresh | dut.clearing | patrols))),
            Cover(patrols & (entry.wrong != 0), f"{entry.way}: the patrol corrects"),
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
        with m.If(patrols):
            m.d.sync += entry.wrong.eq(0)
        with m.If(entry.fresh):
            is_valid = data.View(_ENTRY, entry.latest).valid
            m.d.sync += entry.wrong.eq(Mux(is_valid, entry.injected, 0))
        with m.If(writes):
            m.d.sync += entry.latest.eq(dut.write)

    def _assert_row(self, m: Module, dut, entry: SimpleNamespace, ask: SimpleNamespace) -> None:
        """The contract, of one entry of the row."""
        way, row = entry.way, dut.row[entry.way]
        wanted = Signal.like(entry.latest, name=f"wanted_{way}")
        wrong_before = Signal.like(entry.wrong_bits, name=f"wrong_before_{way}")
        # What is fresh does not come from the memory.
        with m.If(~(entry.fresh | entry.fresh_then)):
            m.d.comb += entry.wrong_bits.eq(sum(entry.wrong_then))
        m.d.sync += [wanted.eq(entry.latest), wrong_before.eq(entry.wrong_bits)]
        with m.If(ask.asked_before):
            m.d.comb += [
                Assert(
                    (wrong_before == 2) | (row.as_value() == wanted),
                    f"{way}: another entry than was written",
                ),
                Assert((wrong_before != 2) | ~row.valid, f"{way}: valid though it is lost"),
                Cover((wrong_before == 1) & wanted.any(), f"{way}: an entry corrected"),
            ]
        with m.If(ask.asked):
            written_twice = entry.fresh & entry.fresh_then & (entry.latest != entry.kept)
            m.d.comb += Cover(written_twice, f"{way}: written twice")

    def _relate_memory(self, m: Module, dut, entry: SimpleNamespace, followed: Signal) -> None:
        """What is kept is in the memory, but for what is cleared; what is fresh is on its way."""
        way, fresh, latest, kept = entry.way, entry.fresh, entry.latest, entry.kept
        with m.If(~dut.clearing | (followed < dut.clear_row)):
            m.d.comb += invariant(
                entry.stored.data.as_value() == _code(kept, entry.wrong),
                f"{way}: another entry is kept",
            )
        with m.If(dut.clearing):
            m.d.comb += invariant(
                ~(latest.any() | kept.any() | entry.wrong.any() | fresh), f"{way}: not cleared"
            )
        with m.Else():
            m.d.comb += [
                invariant(
                    fresh == (dut.written_ways[way] & (dut.written_set == followed)),
                    f"{way}: written, or not",
                ),
                invariant(
                    ~fresh | (dut.written.as_value() == latest), f"{way}: another was written"
                ),
                invariant(fresh | (kept == latest), f"{way}: not kept"),
            ]

    def _relate_read(self, m: Module, dut, entry: SimpleNamespace, asked: Signal) -> None:
        """What was read is what was kept then, but for what came earlier."""
        way, fresh_then, kept_then = entry.way, entry.fresh_then, entry.kept_then
        read = dut.read_ports[way].data.as_value()
        m.d.comb += invariant(sum(entry.wrong_then) <= 2, f"{way}: too many wrong bits")
        with m.If(asked):
            earlier = dut.set_of_earlier & dut.earlier_ways[way]
            m.d.comb += [
                invariant(
                    read == _code(kept_then, entry.wrong_then), f"{way}: another entry was read"
                ),
                invariant(earlier == fresh_then, f"{way}: written earlier, or not"),
                invariant(
                    ~fresh_then | (dut.earlier.as_value() == entry.kept),
                    f"{way}: earlier: another",
                ),
                invariant(fresh_then | (kept_then == entry.kept), f"{way}: not kept then"),
            ]

    def _relate_patrol(self, m: Module, dut, entry: SimpleNamespace, followed: Signal) -> None:
        """What the patrol has read of the followed set, and what it holds of it."""
        way, walk, here = entry.way, dut.walk, dut.walk.row == followed
        read = dut.read_ports[way].data.as_value()
        code = _code(entry.kept_then, entry.wrong_then)
        with m.If(~dut.clearing):
            m.d.comb += [
                invariant(
                    ~(walk.looks & here) | (read == code), f"{way}: the patrol has read another"
                ),
                invariant(~entry.fresh_then | dut.earlier_ways[way], f"{way}: not written earlier"),
                invariant(
                    entry.fresh_then | (entry.kept_then == entry.kept), f"{way}: kept otherwise"
                ),
                invariant(
                    ~(walk.holds & here & dut.wrong[way]) | (dut.row[way].as_value() == entry.kept),
                    f"{way}: the patrol holds another",
                ),
                invariant(
                    ~(dut.fixing & here & dut.fixes[way]) | (dut.fixed.as_value() == entry.kept),
                    f"{way}: the patrol writes another",
                ),
            ]


PROOFS = (
    Proof(
        name="tracker-table",
        statement="A row that is asked for is as the writes of all cycles have left it, that of "
        "the same cycle included; one turned bit of an entry is corrected, one with two is shown "
        "as not valid and told as lost; an injection turns the lowest bit, or the two lowest, of "
        "the next valid entry that is written, and nothing else; the patrol's writes leave every "
        "entry as it was written, right; after a reset all is empty",
        blocks=(TrackerTable,),
        harness=TrackerTableHarness,
        geometry=f"{_ROWS} sets of {_WAYS} entries of {_ENTRY.size} bits",
        reason="check-bits and check-syndrome have every width; sets are only compared with each "
        "other, and ways have nothing in common",
        depth=1,
        cover_depth=12,
        slow=True,
    ),
)
