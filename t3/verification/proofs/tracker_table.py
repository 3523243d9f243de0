"""The tracker's table: a row is as all writes have left it, also when a bit turns meanwhile."""

from types import SimpleNamespace

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Signal, Value
from amaranth.lib import data

from rtl.lib.secded import encode
from rtl.tracker.table import TrackerTable

from .inside import invariant, opened
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_ENTRY = data.StructLayout({"valid": 1, "content": 4})
_ROWS = 4
_WAYS = 2


class TrackerTableHarness(Elaboratable):
    """Follows one set, whichever, and turns bits of its entries through ports of its own.

    Assumed: no more than two bits of an entry are wrong at a time, and, as the bank guarantees it,
    nothing is written while the table is cleared.
    """

    def __init__(self, table: type = TrackerTable):
        self._table = table

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._table(_ENTRY, rows=_ROWS, ways=_WAYS)
        inside = opened(dut)
        free(m, dut.read, dut.read_set, dut.write_ways, dut.write_set, dut.write, dut.clear)
        followed = Signal.like(dut.read_set)
        m.d.comb += [
            followed.eq(AnyConst(len(followed))),
            Assume(~(dut.clearing & dut.write_ways.any())),
        ]
        asked, asked_before = Signal(), Signal()
        m.d.sync += [
            asked.eq(dut.read & (dut.read_set == followed) & ~dut.clearing & ~dut.clear),
            asked_before.eq(asked),
        ]
        with m.If(asked):
            m.d.comb += [
                invariant(inside.checking & ~dut.clearing, "not read"),
                invariant(
                    inside.set_of_written == (inside.written_set == followed), "set of written"
                ),
            ]
        with m.If(dut.clearing & (inside.clear_row != 0)):
            m.d.comb += invariant(~inside.written_ways.any(), "a write beside the clearing")
        entries = [
            self._follow(m, dut, inside, way, followed, asked, asked_before) for way in range(_WAYS)
        ]
        one, two = (Cat(entry.wrong_bits == number for entry in entries).any() for number in (1, 2))
        two_before = Signal()
        m.d.sync += two_before.eq(two)
        m.d.comb += [
            Assert(~asked | (dut.corrected == one), "corrected: not if one bit was wrong"),
            Assert(~asked_before | (dut.lost == two_before), "lost: not if two bits were wrong"),
            Cover(asked & one & two, "an entry corrected, one lost"),
        ]
        return m

    def _follow(
        self, m: Module, dut, inside, way: int, followed, asked, asked_before
    ) -> SimpleNamespace:
        """An entry of the set: ``latest``, as all writes so far have left it, and which bits are
        ``wrong`` in the memory, which a write reaches two cycles after it was given."""
        memory = inside.m.submodules[f"entries_{way}"]
        read = memory.read_ports[0].data.as_value()
        stored, turn = memory.read_port(domain="comb"), memory.write_port()

        def ghost(shape, name: str) -> Signal:
            return Signal(shape, name=f"{name}_{way}")

        width = _ENTRY.size
        latest, kept, kept_then = (ghost(width, name) for name in ("latest", "kept", "kept_then"))
        wrong, turns, wrong_then = (
            ghost(len(read), name) for name in ("wrong", "turns", "wrong_then")
        )
        # Written in the cycle before; and in the one before, as the last read began.
        fresh, fresh_then = ghost(1, "fresh"), ghost(1, "fresh_then")
        writes = dut.write_ways[way] & (dut.write_set == followed)
        free(m, turn.en, turns)
        m.d.comb += [
            stored.addr.eq(followed),
            turn.addr.eq(followed),
            Value.cast(turn.data).eq(stored.data.as_value() ^ turns),
            Assume(~(turn.en & (fresh | dut.clearing))),
            Assume(sum(wrong) <= 2),
        ]
        m.d.sync += [
            fresh.eq(writes),
            fresh_then.eq(fresh),
            kept.eq(latest),
            kept_then.eq(kept),
            wrong_then.eq(wrong),
        ]
        with m.If(turn.en):
            m.d.sync += wrong.eq(wrong ^ turns)
        with m.If(fresh):
            m.d.sync += wrong.eq(0)
        with m.If(writes):
            m.d.sync += latest.eq(dut.write)
        with m.If(dut.clear):
            m.d.sync += [one.eq(0) for one in (latest, kept, wrong, fresh)]

        # What is fresh does not come from the memory.
        wrong_bits, wrong_before = (
            Signal(range(len(read) + 1), name=f"{name}_{way}")
            for name in ("wrong_bits", "wrong_before")
        )
        wanted = ghost(width, "wanted")
        with m.If(~(fresh | fresh_then)):
            m.d.comb += wrong_bits.eq(sum(wrong_then))
        m.d.sync += [wanted.eq(latest), wrong_before.eq(wrong_bits)]
        row = dut.row[way]
        with m.If(asked_before):
            m.d.comb += [
                Assert(
                    (wrong_before == 2) | (row.as_value() == wanted),
                    f"{way}: another entry than was written",
                ),
                Assert((wrong_before != 2) | ~row.valid, f"{way}: valid though it is lost"),
                Cover((wrong_before == 1) & wanted.any(), f"{way}: an entry corrected"),
            ]
        with m.If(asked):
            m.d.comb += Cover(fresh & fresh_then & (latest != kept), f"{way}: written twice")

        def code(entry: Value, turned: Value) -> Value:
            return Cat(entry, encode(entry)) ^ turned

        with m.If(~dut.clearing | (followed < inside.clear_row)):
            m.d.comb += invariant(
                stored.data.as_value() == code(kept, wrong), f"{way}: another entry is kept"
            )
        with m.If(dut.clearing):
            m.d.comb += invariant(
                ~(latest.any() | kept.any() | wrong.any() | fresh), f"{way}: not cleared"
            )
        with m.Else():
            m.d.comb += [
                invariant(
                    fresh == (inside.written_ways[way] & (inside.written_set == followed)),
                    f"{way}: written, or not",
                ),
                invariant(
                    ~fresh | (inside.written.as_value() == latest), f"{way}: another was written"
                ),
                invariant(fresh | (kept == latest), f"{way}: not kept"),
            ]
        m.d.comb += invariant(sum(wrong_then) <= 2, f"{way}: too many wrong bits")
        with m.If(asked):
            earlier = inside.set_of_earlier & inside.earlier_ways[way]
            m.d.comb += [
                invariant(read == code(kept_then, wrong_then), f"{way}: another entry was read"),
                invariant(earlier == fresh_then, f"{way}: written earlier, or not"),
                invariant(
                    ~fresh_then | (inside.earlier.as_value() == kept), f"{way}: earlier: another"
                ),
                invariant(fresh_then | (kept_then == kept), f"{way}: not kept then"),
            ]
        return SimpleNamespace(wrong_bits=wrong_bits)


PROOFS = (
    Proof(
        name="tracker-table",
        statement="A row that is asked for is as the writes of all cycles have left it, that of "
        "the same cycle included; one turned bit of an entry is corrected, one with two is shown "
        "as not valid and told as lost; after a clear all is empty",
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
