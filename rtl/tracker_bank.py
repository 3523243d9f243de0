"""One bank of the tracker: counts the updates of wavefront tiles."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .layouts import Completion, ErrorCode, ErrorSignature, TrackerInput
from .parameters import T3Parameters
from .queue import Queue

__all__ = ["TrackerBank"]


def _log2(value: int) -> int:
    return (value - 1).bit_length()


class TrackerBank(wiring.Component):
    """Set-associative table of the tiles that are not complete.

    An event taken in one cycle is worked off in the next, also when it follows another one of the
    same tile or set: one event per cycle. The event that makes a tile's count reach
    ``sectors * updates_per_sector`` frees the entry; the completion leaves from the cycle after
    next on. Events wait only while completions do, or while the table is cleared.

    Parameters
    ----------
    p : :class:`T3Parameters`
        The bank has ``sets / banks`` sets of ``ways`` entries.

    Members
    -------
    i : In(stream)
        Updates and tile ends of places that belong to this bank.
    o : Out(stream)
        Complete tiles, each once.
    updates_per_sector : In(2)
        Updates that every sector of a tile gets.
    clear : In(1)
        Strobe: empties the table, one set per cycle.
    clearing : Out(1)
        On while it is being emptied, also after reset. Nothing is taken.
    error : Out(:class:`ErrorSignature`)
        One cycle after the event it is about was taken.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        self._rows = p.sets // p.banks
        self._tag_bits = p.place_bits - _log2(p.sets) + p.wavefront_bits
        self._entry = data.StructLayout(
            {
                "valid": 1,
                "tag": self._tag_bits,
                "count": p.count_bits,
                "sectors": p.sector_bits,  # 0: the tile end has not come
                "row_edge": 1,
                "run_edge": 1,
                "start": p.atom_address_bits,
            }
        )
        super().__init__(
            {
                "i": In(stream.Signature(TrackerInput(p))),
                "o": Out(stream.Signature(Completion(p))),
                "updates_per_sector": In(2),
                "clear": In(1),
                "clearing": Out(1, init=1),
                "error": Out(ErrorSignature(p)),
            }
        )

    def _set_of(self, place):
        bank_bits = _log2(self._p.banks)
        return place[bank_bits : bank_bits + _log2(self._rows)]

    def _tag_of(self, event):
        return Cat(event.place[_log2(self._p.sets) :], event.wavefront)

    def _key_of(self, entry):
        return Cat(entry.valid, entry.tag)

    def elaborate(self, platform):
        m = Module()
        p = self._p
        ways = p.ways

        # One memory per way: an event changes one entry of its set.
        depth = max(self._rows, 2)  # with one row there would be no address
        tables = [Memory(shape=self._entry, depth=depth, init=[]) for _ in range(ways)]
        writes = [table.write_port() for table in tables]
        reads = [table.read_port() for table in tables]
        for way, table in enumerate(tables):
            m.submodules[f"table_{way}"] = table
        m.submodules.completions = completions = Queue(Completion(p), depth=4)
        wiring.connect(m, wiring.flipped(self.o), completions.o)

        # Accept. An event in the update stage may push as well, hence the margin of the level.
        busy = Signal()
        event = Signal(TrackerInput(p), reset_less=True)
        accept = Signal()
        m.d.comb += [
            self.i.ready.eq(~self.clearing & (completions.level <= 1)),
            accept.eq(self.i.valid & self.i.ready),
        ]
        for read in reads:
            m.d.comb += [read.addr.eq(self._set_of(self.i.p.place)), read.en.eq(accept)]
        m.d.sync += busy.eq(accept)
        with m.If(accept):
            m.d.sync += event.eq(self.i.p)

        # The memory shows a set as it was before the write of the cycle in which it was read.
        written_entry = Signal(self._entry, reset_less=True)
        written_ways = Signal(ways)
        forward = Signal()
        forward_ways = Signal(ways)
        m.d.sync += forward.eq(busy & (self._set_of(event.place) == self._set_of(self.i.p.place)))
        m.d.comb += forward_ways.eq(Mux(forward, written_ways, 0))

        # Which entry: the lowest that hits, else the lowest free one.
        valid = Signal(ways)
        equal = Signal(ways)
        hits = Signal(ways)
        candidates = Signal(ways)
        chosen = Signal(ways)
        for way, read in enumerate(reads):
            key = Mux(forward_ways[way], self._key_of(written_entry), self._key_of(read.data))
            m.d.comb += Cat(valid[way], equal[way]).eq(Cat(key[0], key[1:] == self._tag_of(event)))
        full = Signal()
        m.d.comb += [
            hits.eq(valid & equal),
            candidates.eq(Mux(hits.any(), hits, ~valid)),
            chosen.eq(candidates & -candidates),
            full.eq(~candidates.any()),
        ]
        stored = Signal(self._entry)
        for way, read in enumerate(reads):
            with m.If(hits[way]) if way == 0 else m.Elif(hits[way]):
                m.d.comb += stored.eq(read.data)
        old = Signal(self._entry)
        with m.If(~hits.any()):
            m.d.comb += old.start.eq(~Const(0, p.atom_address_bits))
        with m.Elif((chosen & forward_ways).any()):
            m.d.comb += old.eq(written_entry)
        with m.Else():
            m.d.comb += old.eq(stored)

        # What becomes of it.
        count = Signal(p.count_bits)
        overflow = Signal()
        sectors = Signal(p.sector_bits)
        edges = Signal(2)
        start = Signal(p.atom_address_bits)
        threshold = Signal(p.count_bits)
        total = old.count + Mux(event.end, 0, event.count)
        m.d.comb += [
            count.eq(total[: p.count_bits]),
            overflow.eq(total[p.count_bits :].any()),
            sectors.eq(Mux(event.end, event.sectors, old.sectors)),
            edges.eq(
                Mux(event.end, Cat(event.row_edge, event.run_edge), Cat(old.row_edge, old.run_edge))
            ),
            start.eq(Mux(~event.end & (event.atom < old.start), event.atom, old.start)),
            threshold.eq(sectors * self.updates_per_sector),
        ]
        complete = Signal()
        keep = Signal()
        code = Signal(ErrorCode)
        with m.If(full):
            m.d.comb += [code.eq(ErrorCode.SET_FULL), keep.eq(1)]
        with m.Elif(event.end & (event.sectors == 0)):
            m.d.comb += [code.eq(ErrorCode.ZERO_THRESHOLD), keep.eq(1)]
        with m.Elif(event.end & (old.sectors != 0)):
            m.d.comb += [code.eq(ErrorCode.SECOND_TILE_END), keep.eq(1)]
        with m.Elif(overflow):
            m.d.comb += code.eq(ErrorCode.COUNT_OVERFLOW)
        with m.Elif(sectors != 0):
            with m.If(count == threshold):
                m.d.comb += complete.eq(1)
            with m.Elif(count > threshold):
                m.d.comb += code.eq(ErrorCode.OVERRUN)

        failed = Signal()
        entry = Signal(self._entry)
        m.d.comb += [
            failed.eq(code != ErrorCode.NONE),
            entry.eq(
                Mux(
                    complete | failed,
                    0,
                    Cat(Const(1), self._tag_of(event), count, sectors, edges, start),
                )
            ),
            completions.i.valid.eq(busy & complete),
            completions.i.p.eq(Cat(event.place, event.wavefront, start, edges)),
            self.error.valid.eq(busy & failed),
            self.error.report.eq(Cat(code, event.place, event.wavefront)),
        ]

        # The write, and what the next event sees of it.
        clear_row = Signal(range(depth))
        write_set = Signal(range(depth))
        write_ways = Signal(ways)
        write_entry = Signal(self._entry)
        m.d.sync += [written_entry.eq(entry), written_ways.eq(write_ways)]
        with m.If(self.clearing):
            m.d.comb += [write_set.eq(clear_row), write_ways.eq(~Const(0, ways))]
            m.d.sync += clear_row.eq(clear_row + 1)
            with m.If(clear_row == self._rows - 1):
                m.d.sync += self.clearing.eq(0)
        with m.Else():
            m.d.comb += [
                write_set.eq(self._set_of(event.place)),
                write_ways.eq(Mux(busy & ~keep, chosen, 0)),
                write_entry.eq(entry),
            ]
        for way, write in enumerate(writes):
            m.d.comb += [
                write.addr.eq(write_set),
                write.data.eq(write_entry),
                write.en.eq(write_ways[way]),
            ]
        with m.If(self.clear):
            m.d.sync += [self.clearing.eq(1), clear_row.eq(0), busy.eq(0)]
        return m
