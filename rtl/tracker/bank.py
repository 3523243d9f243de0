"""One bank of the tracker: counts the updates of wavefront tiles."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import Completion, TrackerInput
from rtl.interface.signatures import ErrorSignature
from rtl.lib.compare import less_than
from rtl.lib.queue import Queue
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.parameters import T3Parameters

from .table import TrackerTable

__all__ = ["TrackerBank"]

_COMPLETIONS = 8
_UNDER_WAY = 5  # events between the choice of the front and the update stage, both included


def _log2(value: int) -> int:
    return (value - 1).bit_length()


class TrackerBank(wiring.Component):
    """Set-associative table of the tiles that are not complete.

    Four stages, one event per cycle in each, whatever its set and tile: the memory is addressed,
    the row is corrected, the row is compared, the entry is updated. The event that makes a tile's
    count reach ``tile_atoms * updates_per_atom`` frees the entry; its completion leaves four cycles
    after it came at the earliest.

    An entry that the memory has lost counts as free, so its tile never completes; the event that
    finds it is reported.

    Parameters
    ----------
    p : :class:`T3Parameters`
        The bank has ``sets / banks`` sets of ``ways`` entries.

    Members
    -------
    i : In(stream), always ready
        Updates and end-of-tile markers of dispatch indices that belong to this bank.
    room : Out(1)
        What is chosen for the bank in this cycle may come in the next. Off only while completions
        wait, or while the table is cleared.
    o : Out(stream)
        Complete tiles, each once.
    updates_per_atom : In(2)
        Updates that every atom of a tile gets.
    clear : In(1)
        Strobe: empties the table, one set per cycle. What is in the first three stages is lost.
    clearing : Out(1)
        On while it is being emptied, also after reset.
    error : Out(:class:`ErrorSignature`)
        Three cycles after the event it is about came.
    corrected : Out(1)
        In this cycle, a wrong bit of an entry was corrected.
    empty : Out(1)
        No tile had an entry after the update stage of two cycles ago. Off for good, until a
        ``clear``, if the memory has lost an entry.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        self._rows = p.sets // p.banks
        self._tag_bits = p.dispatch_index_bits - _log2(p.sets) + p.wavefront_bits
        self._entry = data.StructLayout(
            {
                "valid": 1,
                "tag": self._tag_bits,
                # Updates so far; less the threshold, once the end-of-tile marker has told it: then
                # it is negative until it is zero, and the tile complete.
                "balance": signed(p.count_bits + 1),
                "edges": 2,
                "start": p.atom_address_bits,
            }
        )
        super().__init__(
            {
                "i": In(stream.Signature(TrackerInput(p), always_ready=True)),
                "room": Out(1),
                "o": Out(stream.Signature(Completion(p))),
                "updates_per_atom": In(2),
                "clear": In(1),
                "clearing": Out(1),
                "error": Out(ErrorSignature(p)),
                "corrected": Out(1),
                "empty": Out(1),
            }
        )

    def _set_of(self, dispatch_index):
        bank_bits = _log2(self._p.banks)
        return dispatch_index[bank_bits : bank_bits + _log2(self._rows)]

    def _tag_of(self, event):
        return Cat(event.dispatch_index[_log2(self._p.sets) :], event.wavefront)

    def elaborate(self, platform):
        m = Module()
        p = self._p
        ways = p.ways

        # An attribute, so that a test can turn bits in it.
        self.table = table = TrackerTable(self._entry, rows=self._rows, ways=ways)
        m.submodules.table = table
        m.submodules.completions = completions = Queue(Completion(p), depth=_COMPLETIONS)
        wiring.connect(m, wiring.flipped(self.o), completions.o)
        m.d.comb += [
            self.room.eq(~self.clearing & (completions.level <= _COMPLETIONS - _UNDER_WAY)),
            table.clear.eq(self.clear),
            self.clearing.eq(table.clearing),
            self.corrected.eq(table.corrected),
        ]

        # Address, and in the next cycle check.
        checking = Signal()
        checked = Signal(TrackerInput(p), reset_less=True)
        comparing = Signal()
        compared = Signal(TrackerInput(p), reset_less=True)
        m.d.comb += [
            table.read.eq(self.i.valid),
            table.read_set.eq(self._set_of(self.i.p.dispatch_index)),
        ]
        m.d.sync += [
            checking.eq(self.i.valid & ~self.clearing & ~self.clear),
            comparing.eq(checking & ~self.clear),
            compared.eq(checked),
        ]
        with m.If(self.i.valid):
            m.d.sync += checked.eq(self.i.p)

        # What the update stage did in the last cycle: seen from there the event one ahead, from the
        # comparison the event two ahead.
        entry = Signal(self._entry)
        write_ways = Signal(ways)
        result = Signal(self._entry, reset_less=True)
        result_ways = Signal(ways)
        m.d.sync += [result.eq(entry), result_ways.eq(write_ways)]

        # Compare. The row is as the event three ahead has left it.
        updating = Signal()
        updated = Signal(TrackerInput(p), reset_less=True)
        two_ahead_in_set = Signal()
        tag = self._tag_of(compared)
        rewritten = Signal(ways)
        result_hits = Signal()
        m.d.sync += two_ahead_in_set.eq(
            self._set_of(updated.dispatch_index) == self._set_of(checked.dispatch_index)
        )
        m.d.comb += [
            rewritten.eq(Mux(two_ahead_in_set, result_ways, 0)),
            result_hits.eq(result.valid & (result.tag == tag) & rewritten.any()),
        ]
        valid = Signal(ways)
        hits = Signal(ways)  # in the row as it is
        for way, kept in enumerate(table.row):
            m.d.comb += [
                valid[way].eq(Mux(rewritten[way], result.valid, kept.valid)),
                hits[way].eq(kept.valid & (kept.tag == tag) & ~rewritten[way]),
            ]
        # Of an entry that is not there, only what is compared or added up matters.
        hit = Signal()
        stored = Signal(self._entry)
        m.d.comb += hit.eq(hits.any() | result_hits)
        for name in ("balance", "edges"):
            m.d.comb += stored[name].eq(
                one_hot_select(
                    Cat(hits, result_hits),
                    [*(kept[name] for kept in table.row), result[name]],
                )
            )
        m.d.comb += stored.start.eq(
            one_hot_select(
                Cat(hits, result_hits), [*(kept.start for kept in table.row), result.start]
            )
            | (~hit).replicate(p.atom_address_bits)
        )
        threshold = Signal(p.count_bits + 1)
        m.d.comb += threshold.eq(compared.tile_atoms * self.updates_per_atom)

        # Update, first with what the event one ahead has changed.
        same_set = self._set_of(updated.dispatch_index) == self._set_of(compared.dispatch_index)
        same_tile = Cat(updated.dispatch_index, updated.wavefront) == Cat(
            compared.dispatch_index, compared.wavefront
        )
        written = Signal()
        gone = Signal()  # the entry is freed
        follows_set = Signal()
        # The one ahead has left the tile's entry, or freed it, or has not written it.
        forwarded = Signal()
        freed_ahead = Signal()
        stands_alone = Signal()
        old_hit = Signal()
        old_ways = Signal(ways)
        old_free = Signal(ways)
        old = Signal(self._entry, reset_less=True)
        change = Signal(
            p.count_bits + 1, reset_less=True
        )  # without its carry, if an end-of-tile marker's
        no_atoms = Signal()
        lossy = Signal()  # an entry of the set is lost
        m.d.comb += written.eq(same_tile & write_ways.any())
        m.d.sync += [
            updating.eq(comparing & ~self.clear),
            updated.eq(compared),
            follows_set.eq(same_set),
            forwarded.eq(written & ~gone),
            freed_ahead.eq(written & gone),
            stands_alone.eq(~written),
            old_hit.eq(hit),
            old_ways.eq(hits | Mux(result_hits, rewritten, 0)),
            old_free.eq(~valid),
            old.eq(stored),
            change.eq(Mux(compared.end, ~threshold, compared.count)),
            no_atoms.eq(compared.end & (compared.tile_atoms == 0)),
            lossy.eq(table.lost),
        ]
        found = Signal()
        ways_found = Signal(ways)
        free = Signal(ways)
        known = Signal(self._entry)
        ahead = Signal(ways)
        m.d.comb += [
            found.eq(forwarded | (old_hit & stands_alone)),
            ways_found.eq(Mux(stands_alone, old_ways, result_ways)),
            ahead.eq(Mux(follows_set, result_ways, 0)),
            free.eq(Mux(result.valid, old_free & ~ahead, old_free | ahead)),
        ]
        choice = Cat(stands_alone, forwarded)
        for name in ("balance", "edges"):
            m.d.comb += known[name].eq(one_hot_select(choice, [old[name], result[name]]))
        m.d.comb += known.start.eq(
            one_hot_select(choice, [old.start, result.start])
            | freed_ahead.replicate(p.atom_address_bits)
        )

        # Then with its own change.
        lower = Signal()
        start = Signal(p.atom_address_bits)
        edges = Signal(2)
        balance = Signal(p.count_bits + 1)
        zero = Signal()
        before = known.balance.as_unsigned()
        # A sum is zero if at every bit the half sum meets a carry, which a one below makes.
        carries = Cat(updated.end, before | change)[: len(before)]
        m.d.comb += [
            edges.eq(Mux(updated.end, Cat(updated.outer_edge, updated.inner_edge), known.edges)),
            # Either start is compared, before it is known which of them counts.
            lower.eq(
                one_hot_select(choice, [updated.atom < old.start, updated.atom < result.start])
                | freed_ahead
            ),
            start.eq(Mux(lower & ~updated.end, updated.atom, known.start)),
            balance.eq((Cat(1, before) + Cat(updated.end, change))[1:]),
            zero.eq((before ^ change) == carries),
        ]
        # The sign changes: a count fits no longer, or the tile is complete, or more than that. An
        # update adds so little that the upper bits are then all ones.
        low = len(updated.count)
        turns = (before[:low] + updated.count)[low] & before[low:-1].all()
        full = Signal()
        second = Signal()
        keep = Signal()
        above = Signal()
        complete = Signal()
        code = Signal(ErrorCode)
        m.d.comb += [
            full.eq(~found & ~free.any()),
            second.eq(updated.end & before[-1]),
            keep.eq(full | no_atoms | second),
            above.eq(Mux(updated.end, less_than(~change[:-1], before[:-1]), turns & ~zero)),
            gone.eq(above | (zero & (before[-1] | updated.end))),
            complete.eq(~keep & zero & (before[-1] | updated.end)),
        ]
        with m.If(lossy):
            m.d.comb += code.eq(ErrorCode.TRACKER_CORRUPT)
        with m.Elif(full):
            m.d.comb += code.eq(ErrorCode.SET_FULL)
        with m.Elif(no_atoms):
            m.d.comb += code.eq(ErrorCode.ZERO_THRESHOLD)
        with m.Elif(second):
            m.d.comb += code.eq(ErrorCode.SECOND_END_OF_TILE)
        with m.Elif(updated.end | before[-1]):
            m.d.comb += code.eq(ErrorCode.OVERRUN)
        with m.Else():
            m.d.comb += code.eq(ErrorCode.COUNT_OVERFLOW)
        m.d.comb += [
            write_ways.eq(Mux(updating & ~keep, Mux(found, ways_found, one_hot_first(free)), 0)),
            entry.valid.eq(~gone),
            entry.tag.eq(self._tag_of(updated)),
            entry.balance.eq(balance),
            entry.edges.eq(edges),
            entry.start.eq(start),
            # Whether it is complete comes too late for every bit of the queue.
            completions.i.valid.eq(updating),
            completions.drop.eq(~complete),
            completions.i.p.eq(Cat(updated.dispatch_index, updated.wavefront, start, edges)),
            self.error.valid.eq(updating & (lossy | keep | above)),
            self.error.report.eq(Cat(code, updated.dispatch_index, updated.wavefront)),
            table.write_set.eq(self._set_of(updated.dispatch_index)),
            table.write_ways.eq(write_ways),
            table.write.eq(entry),
        ]

        # Counted when they are written, a cycle after they change.
        entries = Signal(range(self._rows * ways + 1))
        is_new = Signal()
        is_written = result_ways.any()
        m.d.sync += is_new.eq(~found)
        m.d.comb += self.empty.eq(entries == 0)
        with m.If(self.clear | self.clearing):
            m.d.sync += entries.eq(0)
        with m.Elif(is_written & is_new & result.valid):
            m.d.sync += entries.eq(entries + 1)
        with m.Elif(is_written & ~is_new & ~result.valid):
            m.d.sync += entries.eq(entries - 1)
        return m
