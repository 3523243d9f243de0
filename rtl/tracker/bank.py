# amaranth: UnusedElaboratable=no
"""One bank of the tracker: counts the updates of wavefront tiles."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import Completion, TrackerInput
from rtl.interface.signatures import ErrorSignature
from rtl.lib.compare import less_than
from rtl.lib.injection import InjectSignature
from rtl.lib.queue import Queue
from rtl.lib.select import one_hot_first, one_hot_select, select_at
from rtl.parameters import T3Parameters

from .count import ContextCount
from .stages import Compare, Outcome, Update
from .table import TrackerTable
from .walk import TableWalk

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

    An entry that the memory has lost counts as free, so its tile never completes. An event that
    finds it in a way of its context is reported.

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
    updates_per_atom : In(2).array(contexts)
        Updates that every atom of a context's tile gets.
    ways : In(ways).array(contexts)
        Ways in which a context's tiles find room.
    clear : In(contexts)
        Strobes: the context's tiles are forgotten, a set per cycle. So are its events that come
        until then.
    aborting : In(contexts)
        The contexts' events are dropped as they come.
    clearing : Out(contexts)
        On meanwhile, for all of them also after reset.
    error : Out(:class:`ErrorSignature`)
        Three cycles after the event it is about came.
    corrected : Out(1)
        In this cycle, a wrong bit of an entry was corrected.
    inject, patrol, patrolled
        See :class:`TrackerTable`.
    empty : Out(contexts)
        No tile of the context has an entry, none of its events is in a stage, none of its
        completions waits, and nothing is being cleared. Off for good, until a ``clear``, if the
        memory has lost one of its entries.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    Proofs and benches may read these; nothing outside drives them.

    table : TrackerTable
        The memory.
    completions : Queue
        Completions on their way to ``o``.
    checking, comparing, updating : Signal
        There is an event in the stage.
    checked, compared, updated : Signal
        It.
    write_ways, entry : Signal
        What the update stage writes in this cycle, and where.
    result_ways, result : Signal
        What it wrote in the last one; ``result`` counts only with a way.
    compare : Compare
    update : Update
    outcome : Outcome
    walk : TableWalk
    counts : list of ContextCount
        Of each context.
    """

    def __init__(self, p: T3Parameters):
        self._p, self._rows = p, p.sets // p.banks
        self._tag_bits = p.dispatch_index_bits - _log2(p.sets) + p.wavefront_bits + p.owner_bits
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
                "updates_per_atom": In(2).array(p.contexts),
                "ways": In(p.ways).array(p.contexts),
                "clear": In(p.contexts),
                "aborting": In(p.contexts),
                "clearing": Out(p.contexts),
                "error": Out(ErrorSignature(p)),
                "corrected": Out(1),
                "inject": In(InjectSignature()),
                "patrol": In(1),
                "patrolled": Out(1),
                "empty": Out(p.contexts),
                "awake": Out(1),
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
        self.outcome = Outcome.of(p, self._entry)

    def set_of(self, dispatch_index: Value) -> Value:
        """The set that a dispatch index belongs to."""
        bank_bits = _log2(self._p.banks)
        return dispatch_index[bank_bits : bank_bits + _log2(self._rows)]

    def _tag_of(self, event):
        return Cat(event.dispatch_index[_log2(self._p.sets) :], event.wavefront, event.owner)

    def _owner_of(self, tag: Value) -> Value:
        return tag[self._tag_bits - self._p.owner_bits :]

    def _is_of(self, mask: Value, owner: Value) -> Value:
        """Whether the owner is one of the contexts of a mask."""
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
        self._wake(m)
        return m

    def _remember(self, m: Module) -> None:
        """What the update stage did in the last cycle: seen from there the event one ahead, from
        the comparison the event two ahead."""
        m.d.sync += self.result_ways.eq(self.write_ways)
        with m.If(self.updating):
            m.d.sync += self.result.eq(self.entry)

    def _address(self, m: Module) -> None:
        """The first two stages: the row is read, then corrected."""
        table = self.table
        waiting = self.completions.level
        m.d.comb += [
            self.room.eq(~self.clearing.any() & (waiting <= _COMPLETIONS - _UNDER_WAY)),
            self.clearing.eq(
                table.clearing.replicate(self._p.contexts)
                | self.walk.pending
                | self.walk.forgetting
            ),
            self.corrected.eq(table.corrected),
            table.patrol.eq(self.patrol),
            self.patrolled.eq(table.patrolled),
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
        """Find the tile's entry. The row is as the event three ahead has left it; what the event
        two ahead did is in ``result``."""
        compare, row = self.compare, self.table.row
        result, result_ways = self.result, self.result_ways
        tag = self._tag_of(self.compared)
        two_ahead, event = self.updated.dispatch_index, self.checked.dispatch_index
        updates_per_atom = select_at(self.compared.owner, self.updates_per_atom)
        with m.If(self.checking):
            m.d.sync += compare.two_ahead_in_set.eq(self.set_of(two_ahead) == self.set_of(event))
        m.d.comb += [
            compare.rewritten.eq(Mux(compare.two_ahead_in_set, result_ways, 0)),
            compare.result_hits.eq(result.valid & (result.tag == tag) & compare.rewritten.any()),
            compare.hit.eq(compare.hits.any() | compare.result_hits),
            compare.threshold.eq(self.compared.tile_atoms * updates_per_atom),
        ]
        for way, kept in enumerate(row):
            rewritten = compare.rewritten[way]
            m.d.comb += [
                compare.valid[way].eq(Mux(rewritten, result.valid, kept.valid)),
                compare.hits[way].eq(kept.valid & (kept.tag == tag) & ~rewritten),
            ]
        choice = Cat(compare.hits, compare.result_hits)
        for name in ("balance", "edges"):
            m.d.comb += compare.stored[name].eq(
                one_hot_select(choice, [*(kept[name] for kept in row), result[name]])
            )
        m.d.comb += compare.stored.start.eq(
            one_hot_select(choice, [*(kept.start for kept in row), result.start])
            | (~compare.hit).replicate(self._p.atom_address_bits)
        )

    def _hand_over(self, m: Module) -> None:
        """From the comparison to the update stage, with what the event there does meanwhile."""
        compare, update = self.compare, self.update
        compared, updated = self.compared, self.updated
        same_set = self.set_of(updated.dispatch_index) == self.set_of(compared.dispatch_index)
        same_tile = Cat(updated.dispatch_index, updated.wavefront, updated.owner) == Cat(
            compared.dispatch_index, compared.wavefront, compared.owner
        )
        allowed = select_at(compared.owner, self.ways)
        written, gone = Signal(), self.outcome.gone
        m.d.comb += written.eq(same_tile & self.write_ways.any())
        m.d.sync += self.updating.eq(self.comparing & ~self._is_of(self.clear, compared.owner))
        with m.If(self.comparing):
            m.d.sync += [
                updated.eq(compared),
                update.follows_set.eq(same_set),
                update.forwarded.eq(written & ~gone),
                update.freed_ahead.eq(written & gone),
                update.stands_alone.eq(~written),
                update.old_hit.eq(compare.hit),
                update.old_ways.eq(compare.hits | Mux(compare.result_hits, compare.rewritten, 0)),
                update.old_free.eq(~compare.valid & allowed),
                update.allowed.eq(allowed),
                update.old.eq(compare.stored),
                update.change.eq(Mux(compared.end, ~compare.threshold, compared.count)),
                update.no_atoms.eq(compared.end & (compared.tile_atoms == 0)),
                update.lossy.eq((self.table.lost & allowed).any()),
            ]

    def _look_up(self, m: Module) -> None:
        """The entry as the event one ahead has left it."""
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
        for name in ("balance", "edges"):
            m.d.comb += outcome.known[name].eq(
                one_hot_select(choice, [update.old[name], result[name]])
            )
        m.d.comb += outcome.known.start.eq(
            one_hot_select(choice, [update.old.start, result.start])
            | update.freed_ahead.replicate(self._p.atom_address_bits)
        )

    def _add(self, m: Module) -> None:
        """The entry with the event's own change."""
        update, known, entry, event = self.update, self.outcome.known, self.entry, self.updated
        before = known.balance.as_unsigned()
        lower = Signal()
        # A sum is zero if at every bit the half sum meets a carry, which a one below makes.
        carries = Cat(event.end, before | update.change)[: len(before)]
        choice = Cat(update.stands_alone, update.forwarded)
        m.d.comb += [
            entry.tag.eq(self._tag_of(event)),
            entry.edges.eq(Mux(event.end, Cat(event.outer_edge, event.inner_edge), known.edges)),
            # Either start is compared, before it is known which of them counts.
            lower.eq(
                one_hot_select(
                    choice, [event.atom < update.old.start, event.atom < self.result.start]
                )
                | update.freed_ahead
            ),
            entry.start.eq(Mux(lower & ~event.end, event.atom, known.start)),
            entry.balance.eq((Cat(1, before) + Cat(event.end, update.change))[1:]),
            self.outcome.zero.eq((before ^ update.change) == carries),
        ]

    def _judge(self, m: Module) -> None:
        """The sign changes: a count fits no longer, or the tile is complete, or more than that."""
        update, outcome, event = self.update, self.outcome, self.updated
        before, zero = outcome.known.balance.as_unsigned(), outcome.zero
        # An update adds so little that the upper bits are then all ones.
        low = len(event.count)
        turns = (before[:low] + event.count)[low] & before[low:-1].all()
        m.d.comb += [
            outcome.full.eq(~outcome.found & ~outcome.free.any()),
            outcome.second.eq(event.end & before[-1]),
            outcome.keep.eq(outcome.full | update.no_atoms | outcome.second),
            outcome.above.eq(
                Mux(event.end, less_than(~update.change[:-1], before[:-1]), turns & ~zero)
            ),
            outcome.gone.eq(outcome.above | (zero & (before[-1] | event.end))),
            outcome.complete.eq(~outcome.keep & zero & (before[-1] | event.end)),
        ]

    def _report(self, m: Module) -> None:
        update, outcome, event = self.update, self.outcome, self.updated
        code = Signal(ErrorCode)
        with m.If(update.lossy):
            m.d.comb += code.eq(ErrorCode.TRACKER_CORRUPT)
        with m.Elif(outcome.full):
            m.d.comb += code.eq(ErrorCode.SET_FULL)
        with m.Elif(update.no_atoms):
            m.d.comb += code.eq(ErrorCode.ZERO_THRESHOLD)
        with m.Elif(outcome.second):
            m.d.comb += code.eq(ErrorCode.SECOND_END_OF_TILE)
        with m.Elif(event.end | outcome.known.balance[-1]):
            m.d.comb += code.eq(ErrorCode.OVERRUN)
        with m.Else():
            m.d.comb += code.eq(ErrorCode.COUNT_OVERFLOW)
        m.d.comb += [
            self.error.valid.eq(self.updating & (update.lossy | outcome.keep | outcome.above)),
            self.error.report.eq(Cat(code, event.owner, event.dispatch_index, event.wavefront)),
        ]

    def _write(self, m: Module) -> None:
        """The entry goes to the table, the completion to its queue."""
        update, outcome, event, entry = self.update, self.outcome, self.updated, self.entry
        completions, table = self.completions, self.table
        ways_found = Signal(self._p.ways)
        ways = Mux(outcome.found, ways_found, one_hot_first(outcome.free))
        m.d.comb += [
            ways_found.eq(Mux(update.stands_alone, update.old_ways, self.result_ways)),
            self.write_ways.eq(Mux(self.updating & ~outcome.keep, ways, 0)),
            entry.valid.eq(~outcome.gone),
            # Whether it is complete comes too late for every bit of the queue.
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
        """Forget the tiles of contexts: of every set, what is theirs or nobody's is written 0."""
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
        """Entries are counted when they are written, a cycle after they change."""
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
                    count.none & ~self.clearing[number] & ~self._is_under_way(number)
                ),
            ]

    def _is_under_way(self, number: int) -> Value:
        """Whether an event of a context is in a stage."""
        stages = (
            (self.i.valid, self.i.p),
            (self.checking, self.checked),
            (self.comparing, self.compared),
            (self.updating, self.updated),
        )
        return Cat(valid & (event.owner == number) for valid, event in stages).any()

    def _wake(self, m: Module) -> None:
        """With an event in a stage, or what the last one did. The counts change only with what the
        parts are awake for."""
        parts = (self.table, self.walk, self.completions)
        m.d.comb += self.awake.eq(
            Cat(self.walk.busy, self.result_ways, *(part.awake for part in parts)).any()
        )
