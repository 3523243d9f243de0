"""Bank of the tracker: counts the updates of wavefront tiles."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import Completion, TrackerInput
from rtl.interface.signatures import ErrorSignature
from rtl.lib.injection import InjectSignature
from rtl.lib.queue import Queue
from rtl.lib.select import one_hot_first, one_hot_select, select_at
from rtl.parameters import T3Parameters

from .count import ContextCount
from .stages import Compare, Update, UpdateResult
from .table import TrackerTable
from .walk import TableWalk

__all__ = ["BANK_ERRORS", "TrackerBank"]

BANK_ERRORS = (
    ErrorCode.TRACKER_CORRUPT,
    ErrorCode.SET_FULL,
    ErrorCode.NO_SHARE,
    ErrorCode.OVERRUN,
    ErrorCode.COUNT_OVERFLOW,
)
"""Codes of a bank's error; the first one that applies is reported."""

_SELECTED = ("balance", "known", "missing", "edges")  # neutral if they are 0 without an entry
_COMPLETIONS = 8
_IN_FLIGHT = 5  # events from the front's selection up to the update stage, both included


def _log2(value: int) -> int:
    return (value - 1).bit_length()


class TrackerBank(wiring.Component):
    """Tracker bank: set-associative table of incomplete tiles.

    The pipeline has four stages with one event per cycle each, whatever its set and tile: address
    the memory, correct the row, compare the row, update the entry. A tile is complete when its
    markers have all of its shares, and all atoms that they announce are updated. The event that
    completes the tile frees the entry; the completion leaves at least four cycles after that event
    arrived.

    An entry that the memory has lost counts as free, so its tile never completes. An event that
    finds such an entry in a way of its context is reported as an error.

    Parameters
    ----------
    p : :class:`T3Parameters`
        The bank has ``sets / banks`` sets of ``ways`` entries.

    Members
    -------
    i : In(stream), always ready
        Updates and end-of-tile markers of dispatch indices that belong to this bank.
    space : Out(1)
        An event that is selected for the bank in this cycle may arrive in the next cycle. Low only
        while completions wait, or while the table is cleared.
    o : Out(stream)
        Complete tiles, each once.
    ways : In(ways).array(contexts)
        Ways that a context's tiles may use.
    clear : In(contexts)
        Strobes: discard the context's tiles, one set per cycle, and its events that arrive until
        the end.
    aborting : In(contexts)
        Drop the contexts' events as they arrive.
    clearing : Out(contexts)
        High during a clear, and for all contexts after reset.
    error : Out(:class:`ErrorSignature`)
        Error of an event, three cycles after its arrival.
    corrected : Out(1)
        A bit error of an entry was corrected in this cycle.
    inject, scrub, scrub_corrected
        See :class:`TrackerTable`.
    empty : Out(contexts)
        No tile of the context has an entry, no event of it is in a stage, no completion of it
        waits, and no clear is in progress. If the memory has lost an entry of the context,
        ``empty`` stays low until a ``clear``.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    table : TrackerTable
        The memory.
    completions : Queue
        Completions on their way to ``o``.
    checking, comparing, updating : Signal
        The stage holds an event.
    checked, compared, updated : Signal
        Event in the stage.
    write_ways, entry : Signal
        Ways that the update stage writes in this cycle, and the entry written.
    result_ways, result : Signal
        Ways and entry of the last cycle; ``result`` is valid only with a way.
    compare : Compare
    update : Update
    outcome : UpdateResult
    walk : TableWalk
    counts : list of ContextCount
        Counts of each context.
    """

    def __init__(self, p: T3Parameters):
        self._p, self._rows = p, p.sets // p.banks
        self._tag_bits = p.dispatch_index_bits - _log2(p.sets) + p.wavefront_bits + p.owner_bits
        self._entry = data.StructLayout(
            {
                "valid": 1,
                "tag": self._tag_bits,
                # Updates so far, minus the atoms that the markers so far have announced.
                "balance": signed(p.count_bits + 1),
                # A marker has come, and the shares that are missing since.
                "known": 1,
                "missing": p.share_bits,
                "edges": 2,
                "start": p.atom_address_bits,
            }
        )
        super().__init__(
            {
                "i": In(stream.Signature(TrackerInput(p), always_ready=True)),
                "space": Out(1),
                "o": Out(stream.Signature(Completion(p))),
                "ways": In(p.ways).array(p.contexts),
                "clear": In(p.contexts),
                "aborting": In(p.contexts),
                "clearing": Out(p.contexts),
                "error": Out(ErrorSignature(p)),
                "corrected": Out(1),
                "inject": In(InjectSignature()),
                "scrub": In(1),
                "scrub_corrected": Out(1),
                "empty": Out(p.contexts),
                "clock_enable": Out(1),
            }
        )
        self.walk = TableWalk(contexts=p.contexts, rows=self._rows)
        self.table = TrackerTable(self._entry, rows=self._rows, ways=p.ways)
        self.completions = Queue(Completion(p), depth=_COMPLETIONS)
        self.counts = [
            ContextCount(entries=self._rows * p.ways, completions=_COMPLETIONS)
            for _ in range(p.contexts)
        ]
        self.checking, self.comparing, self.updating = (
            Signal(name=name) for name in ("checking", "comparing", "updating")
        )
        self.checked, self.compared, self.updated = (
            Signal(TrackerInput(p), name=name, reset_less=True)
            for name in ("checked", "compared", "updated")
        )
        self.write_ways = Signal(p.ways)
        self.entry = Signal(self._entry)
        self.result_ways = Signal(p.ways)
        self.result = Signal(self._entry, reset_less=True)
        self.compare = Compare.of(p, self._entry)
        self.update = Update.of(p, self._entry)
        self.outcome = UpdateResult.of(p, self._entry)

    def set_of(self, dispatch_index: Value) -> Value:
        """Compute the set of a dispatch index."""
        bank_bits = _log2(self._p.banks)
        return dispatch_index[bank_bits : bank_bits + _log2(self._rows)]

    def _tag_of(self, event):
        return Cat(event.dispatch_index[_log2(self._p.sets) :], event.wavefront, event.owner)

    def _owner_of(self, tag: Value) -> Value:
        return tag[self._tag_bits - self._p.owner_bits :]

    def _is_of(self, mask: Value, owner: Value) -> Value:
        """Test whether a mask of contexts includes the owner."""
        return Cat(bit & (owner == number) for number, bit in enumerate(mask)).any()

    def elaborate(self, platform):
        m = Module()
        m.submodules.walk = self.walk
        m.submodules.table = self.table
        m.submodules.completions = self.completions
        wiring.connect(m, wiring.flipped(self.o), self.completions.o)
        wiring.connect(m, wiring.flipped(self.inject), self.table.inject)
        self._remember(m)
        self._address(m)
        self._compare(m)
        self._hand_over(m)
        self._look_up(m)
        self._add(m)
        self._judge(m)
        self._report(m)
        self._write(m)
        self._walk(m)
        self._count(m)
        self._enable_clock(m)
        return m

    def _remember(self, m: Module) -> None:
        """Register the result of the update stage. It belongs to the event one ahead of the update
        stage, and two ahead of the comparison."""
        m.d.sync += self.result_ways.eq(self.write_ways)
        with m.If(self.updating):
            m.d.sync += self.result.eq(self.entry)

    def _address(self, m: Module) -> None:
        """First two stages: read the row, then correct it."""
        table = self.table
        waiting = self.completions.level
        m.d.comb += [
            self.space.eq(~self.clearing.any() & (waiting <= _COMPLETIONS - _IN_FLIGHT)),
            self.clearing.eq(
                table.clearing.replicate(self._p.contexts)
                | self.walk.pending
                | self.walk.forgetting
            ),
            self.corrected.eq(table.corrected),
            table.scrub.eq(self.scrub),
            self.scrub_corrected.eq(table.scrub_corrected),
            table.read.eq(self.i.valid),
            table.read_set.eq(self.set_of(self.i.p.dispatch_index)),
        ]

        def stays(event):
            return ~self._is_of(self.clear, event.owner)

        m.d.sync += [
            self.checking.eq(
                self.i.valid
                & stays(self.i.p)
                & ~self._is_of(self.clearing | self.aborting, self.i.p.owner)
            ),
            self.comparing.eq(self.checking & stays(self.checked)),
        ]
        with m.If(self.i.valid):
            m.d.sync += self.checked.eq(self.i.p)
        with m.If(self.checking):
            m.d.sync += self.compared.eq(self.checked)

    def _compare(self, m: Module) -> None:
        """Find the tile's entry. The row includes the writes up to the event three ahead; the write
        of the event two ahead is in ``result``."""
        compare, row = self.compare, self.table.row
        result, result_ways = self.result, self.result_ways
        tag = self._tag_of(self.compared)
        two_ahead, event = self.updated.dispatch_index, self.checked.dispatch_index
        with m.If(self.checking):
            m.d.sync += compare.two_ahead_in_set.eq(self.set_of(two_ahead) == self.set_of(event))
        m.d.comb += [
            compare.rewritten.eq(Mux(compare.two_ahead_in_set, result_ways, 0)),
            compare.result_hits.eq(result.valid & (result.tag == tag) & compare.rewritten.any()),
            compare.hit.eq(compare.hits.any() | compare.result_hits),
        ]
        for way, kept in enumerate(row):
            rewritten = compare.rewritten[way]
            m.d.comb += [
                compare.valid[way].eq(Mux(rewritten, result.valid, kept.valid)),
                compare.hits[way].eq(kept.valid & (kept.tag == tag) & ~rewritten),
            ]
        choice = Cat(compare.hits, compare.result_hits)
        for name in _SELECTED:
            m.d.comb += compare.stored[name].eq(
                one_hot_select(choice, [*(kept[name] for kept in row), result[name]])
            )
        m.d.comb += compare.stored.start.eq(
            one_hot_select(choice, [*(kept.start for kept in row), result.start])
            | (~compare.hit).replicate(self._p.atom_address_bits)
        )

    def _hand_over(self, m: Module) -> None:
        """Pass the event to the update stage, with the effect of the event that is there now."""
        compare, update = self.compare, self.update
        compared, updated = self.compared, self.updated
        same_set = self.set_of(updated.dispatch_index) == self.set_of(compared.dispatch_index)
        same_tile = Cat(updated.dispatch_index, updated.wavefront, updated.owner) == Cat(
            compared.dispatch_index, compared.wavefront, compared.owner
        )
        allowed = select_at(compared.owner, self.ways)
        written, freed = Signal(), self.outcome.freed
        m.d.comb += written.eq(same_tile & self.write_ways.any())
        m.d.sync += self.updating.eq(self.comparing & ~self._is_of(self.clear, compared.owner))
        announced = Signal.like(update.change, name="announced", reset_less=False)
        m.d.comb += announced.eq(compared.tile_atoms)
        with m.If(self.comparing):
            m.d.sync += [
                updated.eq(compared),
                update.follows_set.eq(same_set),
                update.forwarded.eq(written & ~freed),
                update.freed_ahead.eq(written & freed),
                update.stands_alone.eq(~written),
                update.old_hit.eq(compare.hit),
                update.old_ways.eq(compare.hits | Mux(compare.result_hits, compare.rewritten, 0)),
                update.old_free.eq(~compare.valid & allowed),
                update.allowed.eq(allowed),
                update.old.eq(compare.stored),
                update.change.eq(Mux(compared.end, ~announced, compared.count)),
                update.no_share.eq(compared.end & (compared.shares == 0)),
                update.lossy.eq((self.table.lost & allowed).any()),
            ]

    def _look_up(self, m: Module) -> None:
        """Find the entry as the event one ahead leaves it (forwarding)."""
        update, outcome, result = self.update, self.outcome, self.result
        ahead = Signal(self._p.ways)
        m.d.comb += [
            outcome.found.eq(update.forwarded | (update.old_hit & update.stands_alone)),
            ahead.eq(Mux(update.follows_set, self.result_ways, 0)),
            outcome.free.eq(
                Mux(
                    result.valid, update.old_free & ~ahead, update.old_free | ahead & update.allowed
                )
            ),
        ]
        choice = Cat(update.stands_alone, update.forwarded)
        for name in _SELECTED:
            m.d.comb += outcome.known[name].eq(
                one_hot_select(choice, [update.old[name], result[name]])
            )
        m.d.comb += outcome.known.start.eq(
            one_hot_select(choice, [update.old.start, result.start])
            | update.freed_ahead.replicate(self._p.atom_address_bits)
        )

    def _add(self, m: Module) -> None:
        """Apply the event's own change to the entry."""
        update, known, entry, event = self.update, self.outcome.known, self.entry, self.updated
        before = known.balance.as_unsigned()
        lower, balance = Signal(), Signal.like(before, name="balance")
        # A sum is zero if, at every bit, the half sum equals the carry in. The carry into a bit is
        # then one exactly if one of the operands has a one in the next lower bit.
        carries = Cat(event.end, before | update.change)[: len(before)]
        choice = Cat(update.stands_alone, update.forwarded)
        m.d.comb += [
            entry.tag.eq(self._tag_of(event)),
            entry.edges.eq(Mux(event.end, Cat(event.outer_edge, event.inner_edge), known.edges)),
            # Both candidates are compared before one of them is selected.
            lower.eq(
                one_hot_select(
                    choice, [event.atom < update.old.start, event.atom < self.result.start]
                )
                | update.freed_ahead
            ),
            entry.start.eq(Mux(lower & ~event.end, event.atom, known.start)),
            balance.eq((Cat(1, before) + Cat(event.end, update.change))[1:]),
            entry.balance.eq(balance),
            self.outcome.negative.eq(balance[-1]),
            self.outcome.zero.eq((before ^ update.change) == carries),
        ]

    def _judge(self, m: Module) -> None:
        """Detect a completion, an overrun or a count overflow."""
        update, outcome, event = self.update, self.outcome, self.updated
        before, zero = outcome.known.balance.as_unsigned(), outcome.zero
        missing = Mux(outcome.known.known, outcome.known.missing, event.total)
        left = Signal(range(-(1 << self._p.share_bits), 1 << self._p.share_bits))
        whole = Signal()
        # An update changes the sign from plus to minus only if the upper bits are all ones.
        low = len(event.count)
        turns = (before[:low] + event.count)[low] & before[low:-1].all() & ~before[-1]
        m.d.comb += [
            left.eq(missing - event.shares),
            whole.eq(Mux(event.end, missing == event.shares, outcome.known.known & (missing == 0))),
            outcome.full.eq(~outcome.found & ~outcome.free.any()),
            outcome.keep.eq(outcome.full | update.no_share),
            outcome.excess.eq(event.end & (left < 0) | whole & ~outcome.negative & ~zero),
            outcome.above.eq(outcome.excess | (~event.end & turns)),
            outcome.freed.eq(outcome.above | (whole & zero)),
            outcome.complete.eq(~outcome.keep & whole & zero),
            self.entry.known.eq(outcome.known.known | event.end),
            self.entry.missing.eq(Mux(event.end, left, outcome.known.missing)),
        ]

    def _report(self, m: Module) -> None:
        update, outcome, event = self.update, self.outcome, self.updated
        code = Signal(ErrorCode)
        *conditions, last = BANK_ERRORS
        m.d.comb += code.eq(last)
        causes = (
            update.lossy,
            outcome.full,
            update.no_share,
            outcome.excess,
        )
        # The last assignment takes effect; it belongs to the first cause.
        for cause, condition in reversed(list(zip(causes, conditions, strict=True))):
            with m.If(cause):
                m.d.comb += code.eq(condition)
        m.d.comb += [
            self.error.valid.eq(self.updating & (update.lossy | outcome.keep | outcome.above)),
            self.error.report.eq(Cat(code, event.owner, event.dispatch_index, event.wavefront)),
        ]

    def _write(self, m: Module) -> None:
        """Write the entry to the table, and the completion to its queue."""
        update, outcome, event, entry = self.update, self.outcome, self.updated, self.entry
        completions, table = self.completions, self.table
        ways_found = Signal(self._p.ways)
        ways = Mux(outcome.found, ways_found, one_hot_first(outcome.free))
        m.d.comb += [
            ways_found.eq(Mux(update.stands_alone, update.old_ways, self.result_ways)),
            self.write_ways.eq(Mux(self.updating & ~outcome.keep, ways, 0)),
            entry.valid.eq(~outcome.freed),
            # `complete` arrives too late to gate every data bit of the queue; only the put is
            # gated.
            completions.i.valid.eq(self.updating),
            completions.drop.eq(~outcome.complete),
            completions.i.p.eq(
                Cat(event.owner, event.dispatch_index, event.wavefront, entry.start, entry.edges)
            ),
            table.may_write.eq(self.updating | self.walk.clears),
            table.write_set.eq(self.set_of(event.dispatch_index)),
            table.write_ways.eq(self.write_ways),
            table.write.eq(entry),
        ]

    def _walk(self, m: Module) -> None:
        """Clear, in every set, the entries that belong to the cleared contexts or are invalid."""
        walk, table = self.walk, self.table
        stages = self.i.valid | self.checking | self.comparing | self.updating
        m.d.comb += [walk.clear.eq(self.clear), walk.busy.eq(table.clearing | stages)]
        with m.If(walk.reads):
            m.d.comb += [table.read.eq(1), table.read_set.eq(walk.row)]
        with m.If(walk.clears):
            m.d.comb += [
                table.write_set.eq(walk.row_cleared),
                table.write_ways.eq(
                    Cat(
                        ~kept.valid | self._is_of(walk.forgetting, self._owner_of(kept.tag))
                        for kept in table.row
                    )
                ),
                table.write.eq(0),
            ]

    def _count(self, m: Module) -> None:
        """Count entries one cycle after they change, when they are written."""
        is_new, more, fewer = Signal(), Signal(), Signal()
        is_written, is_valid = self.result_ways.any(), self.result.valid
        with m.If(self.updating):
            m.d.sync += is_new.eq(~self.outcome.found)
        m.d.comb += [
            more.eq(is_written & is_new & is_valid),
            fewer.eq(is_written & ~is_new & ~is_valid),
        ]
        for number, count in enumerate(self.counts):
            m.submodules[f"count_{number}"] = count
            here = self._owner_of(self.result.tag) == number
            pushed, popped = (
                stream.valid & stream.ready & (stream.p.owner == number)
                for stream in (self.completions.i, self.completions.o)
            )
            m.d.comb += [
                count.more.eq(more & here),
                count.fewer.eq(fewer & here),
                count.clear.eq(self.clear[number] | self.clearing[number]),
                count.completes.eq(pushed & ~self.completions.drop),
                count.leaves.eq(popped),
                self.empty[number].eq(
                    count.none & ~self.clearing[number] & ~self._is_outstanding(number)
                ),
            ]

    def _is_outstanding(self, number: int) -> Value:
        """Test whether an event of a context is in a stage."""
        stages = (
            (self.i.valid, self.i.p),
            (self.checking, self.checked),
            (self.comparing, self.compared),
            (self.updating, self.updated),
        )
        return Cat(valid & (event.owner == number) for valid, event in stages).any()

    def _enable_clock(self, m: Module) -> None:
        """Enable the clock for an event in a stage and for one that was written in the last cycle.

        The counts change only in cycles in which a part needs its clock."""
        parts = (self.table, self.walk, self.completions)
        m.d.comb += self.clock_enable.eq(
            Cat(self.walk.busy, self.result_ways, *(part.clock_enable for part in parts)).any()
        )
