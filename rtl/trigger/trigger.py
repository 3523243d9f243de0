"""Trigger unit: makes DMA commands ready as tiles complete."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import MapConfiguration
from rtl.interface.encodings import Action, ErrorCode, Granularity
from rtl.interface.layouts import Completion, ReadyCommand
from rtl.interface.signatures import ErrorSignature
from rtl.lib.compare import less_than
from rtl.lib.injection import InjectSignature
from rtl.lib.protected_memory import ProtectedMemory
from rtl.lib.protected_queue import ProtectedQueue
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

from .tile_lookup import TileLookup

__all__ = ["State", "Trigger"]

GROUP_BITS = 7  # width of the number of dispatch indices of a group, minus one


class State(enum.Enum):
    """State of the trigger unit."""

    CLEAR = 0
    IDLE = 1
    LOOKUP = 2
    TILE = 3
    GROUP = 4
    RELEASE = 5


@dataclass(frozen=True)
class _Fetch:
    """Row of the current tile. It is read when the tile is taken, and corrected in the next cycle.
    The previous tile may write the row in the cycle of the read."""

    fetched: Signal  # the row was read in the last cycle
    rewritten: Signal  # with ``fetched``: the row was written in the cycle of the read
    written: Signal  # with ``rewritten``: the row as written
    row: Signal
    row_lost: Signal


@dataclass(frozen=True)
class _Sums:
    """Values in state TILE: the row including the tile, and the group of its dispatch index."""

    tiles: Signal
    start: Signal
    full: Signal  # the workgroup is complete
    mask: Signal  # dispatch indices of a group, minus one
    below: Signal  # dispatch indices of the group below this one
    first: Signal
    rest: Signal  # dispatch indices of the range above this one


@dataclass(frozen=True)
class _Group:
    """Group of the dispatch index in the states after TILE."""

    found: Signal  # registers with the group that TILE computed
    member: Signal  # a dispatch index of the group
    members_left: Signal  # in RELEASE: members above ``member``
    short: Signal  # the range ends within the group
    to_range_end: Signal
    whole_group: Signal  # in GROUP: the group is complete


class Trigger(wiring.Component):
    """Trigger unit: counts the complete tiles of each workgroup, and the complete workgroups of
    each group.

    A completion is taken every second cycle. A completion that completes a workgroup of a WORKGROUP
    command takes one more cycle, and one cycle for each command that becomes ready. A command is
    visible five cycles after the completion of its tile was taken, or seven cycles with WORKGROUP.

    Counts and commands have check bits. A single-bit error is corrected. A count or command with a
    double-bit error is dropped and reported, so the workgroup never completes, or its command is
    never ready.

    Parameters
    ----------
    p : :class:`T3Parameters`
        At most ``credit_window`` workgroups are in flight; ``command_depth`` commands wait.

    Members
    -------
    completions : In(stream)
        ``ready`` does not depend on ``valid``.
    ready : Out(stream)
        Commands whose trigger condition holds.
    maps : In(:func:`MapConfiguration`)
    clear : In(1)
        Strobe: clear all counts, one workgroup per cycle. Commands already ready stay.
    clearing : Out(1)
        High during a clear, and after reset. No completion is taken meanwhile.
    complete, complete_dispatch_index : Out
        Strobe: a workgroup is complete.
    own : Out(1)
        With ``complete``: the workgroup needs no DMA.
    tiles : Out(32)
        Completions taken since reset.
    empty : Out(1)
        No command is ready.
    idle : Out(1)
        No command is ready, no completion is being processed, and no clear is in progress.
    error : Out(:class:`ErrorSignature`)
        Loss of a row, a count or a command to bit errors.
    corrected : Out(1)
        A bit error was corrected in this cycle.
    inject : In(:class:`InjectSignature`).array(3)
        Injection into the rows of the workgroups, the counts of the groups, and the commands.
    scrub : In(1)
        Strobe: a step of the scrubbers of the rows and the counts is due.
    scrub_corrected : Out(1)
        A scrubber writes a corrected word in this cycle.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    table, groups : ProtectedMemory
        Row of each workgroup in flight, and number of complete workgroups of each group.
    queue : ProtectedQueue
        Commands in front of ``ready``.
    lookup : TileLookup
        Its register holds, in TILE, the map's entry for ``tile``.
    state : Signal(State)
    tile : Signal
        Completion that was taken last.
    taken : Signal
        A completion is taken in this cycle.
    waiting : Signal
        ``tile`` has not been looked up yet.
    clear_row : Signal
        In CLEAR: the row to clear.
    lost : Signal
        The row or the count of the current tile or group is lost.
    fetch : _Fetch
    sums : _Sums
    group : _Group
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "completions": In(stream.Signature(Completion(p))),
                "ready": Out(stream.Signature(ReadyCommand(p))),
                "maps": In(MapConfiguration(p)),
                "clear": In(1),
                "clearing": Out(1),
                "complete": Out(1),
                "complete_dispatch_index": Out(p.dispatch_index_bits),
                "own": Out(1),
                "tiles": Out(32),
                "empty": Out(1),
                "idle": Out(1),
                "error": Out(ErrorSignature(p)),
                "corrected": Out(1),
                "inject": In(InjectSignature()).array(3),
                "scrub": In(1),
                "scrub_corrected": Out(1),
                "clock_enable": Out(1),
            }
        )
        depth = max(p.credit_window, 2)  # with one row there would be no address
        row_shape = data.StructLayout(
            {"tiles": 4, "start": p.atom_address_bits, "outer_edge": 1, "inner_edge": 1}
        )
        self.table = ProtectedMemory(row_shape, depth=depth)
        self.groups = ProtectedMemory(unsigned(8), depth=depth)
        self.queue = ProtectedQueue(ReadyCommand(p), depth=p.command_depth)
        self.lookup = TileLookup(p)
        self.state = Signal(State)
        self.tile = Signal(Completion(p), reset_less=True)
        self.taken = Signal()
        self.waiting = Signal()
        self.clear_row = Signal(range(depth))
        self.lost = Signal()
        self.fetch = _Fetch(
            fetched=Signal(name="fetched"),
            rewritten=Signal(name="rewritten"),
            written=Signal(row_shape, name="written", reset_less=True),
            row=Signal(row_shape, name="row", reset_less=True),
            row_lost=Signal(name="row_lost"),
        )
        self.sums = _Sums(
            tiles=Signal(4, name="tiles"),
            start=Signal(p.atom_address_bits, name="start"),
            full=Signal(name="full"),
            mask=Signal(GROUP_BITS, name="mask"),
            below=Signal(GROUP_BITS, name="below"),
            first=Signal(p.dispatch_index_bits, name="first"),
            rest=Signal(p.dispatch_index_bits, name="rest"),
        )
        group_shape = data.StructLayout(
            {
                "mask": GROUP_BITS,
                "below": GROUP_BITS,
                "rest": GROUP_BITS,  # saturated: no group is larger
                "range": Value.cast(self.lookup.o.range).shape(),
            }
        )
        self.group = _Group(
            found=Signal(group_shape, name="group", reset_less=True),
            member=Signal(p.dispatch_index_bits, name="member", reset_less=True),
            members_left=Signal(GROUP_BITS, name="members_left", reset_less=True),
            short=Signal(name="short"),
            to_range_end=Signal(GROUP_BITS, name="to_range_end"),
            whole_group=Signal(name="whole_group"),
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = self.table
        m.submodules.groups = self.groups
        m.submodules.queue = self.queue
        wiring.connect(m, self.queue.o, wiring.flipped(self.ready))
        for port, memory in zip(self.inject, (self.table, self.groups, self.queue), strict=True):
            wiring.connect(m, wiring.flipped(port), memory.inject)
        m.d.comb += [
            self.empty.eq(self.queue.empty),
            self.idle.eq(self.empty & (self.state == State.IDLE)),
            self.table.scrub.eq(self.scrub),
            self.groups.scrub.eq(self.scrub),
            self.scrub_corrected.eq(self.table.scrub_corrected | self.groups.scrub_corrected),
        ]
        self._take(m)
        self._fetch_row(m)
        self._look_up(m)
        self._count_tile(m)
        self._find_group(m)
        self._count_group(m)
        follow = Signal(State)  # next state after a completion
        m.d.comb += follow.eq(Mux(self.waiting, State.LOOKUP, State.IDLE))
        with m.Switch(self.state):
            with m.Case(State.CLEAR):
                self._in_clear(m)
            with m.Case(State.IDLE):
                m.d.comb += self.completions.ready.eq(1)
                with m.If(self.taken):
                    m.d.sync += self.state.eq(State.LOOKUP)
            with m.Case(State.LOOKUP):
                m.d.sync += self.state.eq(State.TILE)
            with m.Case(State.TILE):
                self._in_tile(m)
            with m.Case(State.GROUP):
                self._in_group(m, follow)
            with m.Case(State.RELEASE):
                self._in_release(m, follow)
        self._read_row(m)
        with m.If(self.clear):
            m.d.sync += [self.state.eq(State.CLEAR), self.clear_row.eq(0)]
        parts = (self.table, self.groups, self.queue)
        works = self.taken | (self.state != State.IDLE) | self.fetch.fetched
        m.d.comb += self.clock_enable.eq(
            Cat(works, self.clear, *(part.clock_enable for part in parts)).any()
        )
        self._report(m)
        return m

    def _row_of(self, dispatch_index: Value) -> Value:
        return dispatch_index[: (self._p.credit_window - 1).bit_length()]

    def _take(self, m: Module) -> None:
        m.submodules.tile_count = tile_count = WideCounter(len(self.tiles))
        m.d.comb += [
            tile_count.step.eq(self.completions.valid & self.completions.ready),
            self.tiles.eq(tile_count.o),
            self.taken.eq(self.completions.valid & self.completions.ready),
            self.complete_dispatch_index.eq(self.tile.dispatch_index),
        ]
        # All completions have the same owner, which is not stored.
        kept = [name for name in self.tile.shape().members if name != "owner"]
        with m.If(self.taken):
            m.d.sync += [self.tile[name].eq(self.completions.p[name]) for name in kept]

    def _fetch_row(self, m: Module) -> None:
        fetch, table = self.fetch, self.table
        coming = self.completions.p.dispatch_index
        same_row = self._row_of(self.tile.dispatch_index) == self._row_of(coming)
        m.d.sync += fetch.fetched.eq(self.taken)
        with m.If(self.taken):
            m.d.sync += [
                fetch.written.eq(table.i),
                fetch.rewritten.eq(table.write & same_row),
            ]
        with m.If(fetch.fetched):
            m.d.sync += [
                fetch.row.eq(Mux(fetch.rewritten, fetch.written, table.o)),
                fetch.row_lost.eq(table.lost & ~fetch.rewritten),
            ]
            m.d.comb += self.corrected.eq(table.corrected & ~fetch.rewritten)
        with m.If(self.queue.corrected):
            m.d.comb += self.corrected.eq(1)

    def _look_up(self, m: Module) -> None:
        m.submodules.lookup = self.lookup
        m.d.comb += [
            self.lookup.tile.eq(self.tile),
            self.lookup.maps.eq(self.maps),
            self.lookup.look.eq(self.state == State.LOOKUP),
        ]

    def _count_tile(self, m: Module) -> None:
        sums, row, tile, entry = self.sums, self.fetch.row, self.tile, self.lookup.o
        keep_start = (row.tiles != 0) & less_than(row.start, tile.start)
        m.d.comb += [
            sums.tiles.eq(row.tiles + 1),
            sums.start.eq(Mux(keep_start, row.start, tile.start)),
            sums.full.eq((row.tiles + 1 == entry.waves) & ~self.fetch.row_lost),
        ]

    def _find_group(self, m: Module) -> None:
        """Compute the group of the dispatch index: its first index, and the rest of the range."""
        sums, entry, dispatch_index = self.sums, self.lookup.o, self.tile.dispatch_index
        m.d.comb += [
            sums.mask.eq((1 << entry.group_log2) - 1),
            sums.below.eq((dispatch_index - entry.first) & sums.mask),
            sums.first.eq(dispatch_index - sums.below),
            sums.rest.eq(entry.last - dispatch_index),
        ]

    def _count_group(self, m: Module) -> None:
        group, found, count = self.group, self.group.found, self.groups.o
        m.d.comb += [
            group.short.eq(found.rest < (found.mask & ~found.below)),
            group.to_range_end.eq(found.below + found.rest),
            group.whole_group.eq(
                Mux(group.short, count == group.to_range_end, count == found.mask)
            ),
        ]

    def _in_clear(self, m: Module) -> None:
        m.d.comb += [
            self.clearing.eq(1),
            self.table.write_address.eq(self.clear_row),
            self.table.write.eq(1),
            self.groups.write_address.eq(self.clear_row),
            self.groups.write.eq(1),
        ]
        m.d.sync += self.clear_row.eq(self.clear_row + 1)
        with m.If(self.clear_row == self._p.credit_window - 1):
            m.d.sync += self.state.eq(State.IDLE)

    def _in_tile(self, m: Module) -> None:
        """Count the tile, and read the count of its group."""
        tile, entry, sums, group = self.tile, self.lookup.o, self.sums, self.group
        table, groups, push = self.table, self.groups, self.queue.i.p
        row_lost = self.fetch.row_lost
        dma = entry.action == Action.DMA
        mapped = entry.action != Action.NONE
        m.d.comb += [
            self.completions.ready.eq(1),
            table.write_address.eq(self._row_of(tile.dispatch_index)),
            table.i.tiles.eq(Mux(sums.full, 0, sums.tiles)),
            table.i.start.eq(sums.start),
            table.i.outer_edge.eq(tile.outer_edge),
            table.i.inner_edge.eq(tile.inner_edge),
            table.write.eq(mapped & ~row_lost),
            self.complete.eq(sums.full & mapped),
            self.own.eq(self.complete & ~dma),
            push.range.eq(entry.range),
            push.dispatch_index.eq(tile.dispatch_index),
            push.wavefront.eq(tile.wavefront),
            push.start.eq(tile.start),
            push.outer_edge.eq(tile.outer_edge),
            push.inner_edge.eq(tile.inner_edge),
            push.last.eq(sums.full),
            self.queue.i.valid.eq(dma & (entry.granularity == Granularity.WAVEFRONT) & ~row_lost),
            self.lost.eq(mapped & row_lost),
            groups.read_address.eq(self._row_of(sums.first)),
            groups.read.eq(1),
        ]
        beyond = sums.rest[GROUP_BITS:].any().replicate(GROUP_BITS)
        m.d.sync += [
            self.waiting.eq(self.completions.valid),
            group.member.eq(sums.first),
            group.found.mask.eq(sums.mask),
            group.found.below.eq(sums.below),
            group.found.rest.eq(sums.rest[:GROUP_BITS] | beyond),
            group.found.range.eq(entry.range),
            self.state.eq(Mux(self.completions.valid, State.LOOKUP, State.IDLE)),
        ]
        with m.If(dma & (entry.granularity == Granularity.WORKGROUP) & sums.full):
            m.d.sync += self.state.eq(State.GROUP)

    def _in_group(self, m: Module, follow: Value) -> None:
        """Count the workgroup, and read the row of the group's first workgroup."""
        table, groups, group = self.table, self.groups, self.group
        m.d.comb += [
            groups.write_address.eq(self._row_of(group.member)),
            groups.i.eq(Mux(group.whole_group, 0, groups.o + 1)),
            groups.write.eq(~groups.lost),
            self.lost.eq(groups.lost),
            table.read_address.eq(self._row_of(group.member)),
            table.read.eq(1),
        ]
        with m.If(groups.corrected):
            m.d.comb += self.corrected.eq(1)
        released = group.whole_group & ~groups.lost
        m.d.sync += [
            group.members_left.eq(Mux(group.short, group.to_range_end, group.found.mask)),
            self.state.eq(Mux(released, State.RELEASE, follow)),
        ]

    def _in_release(self, m: Module, follow: Value) -> None:
        """Make the command of ``member`` from its row, and read the row of the next member."""
        table, group, push = self.table, self.group, self.queue.i.p
        m.d.comb += [
            push.range.eq(group.found.range),
            push.dispatch_index.eq(group.member),
            push.start.eq(table.o.start),
            push.outer_edge.eq(table.o.outer_edge),
            push.inner_edge.eq(table.o.inner_edge),
            push.last.eq(1),
            self.queue.i.valid.eq(~table.lost),
            self.lost.eq(table.lost),
            table.read_address.eq(self._row_of(group.member + 1)),
            table.read.eq(1),
        ]
        with m.If(table.corrected):
            m.d.comb += self.corrected.eq(1)
        m.d.sync += [
            group.member.eq(group.member + 1),
            group.members_left.eq(group.members_left - 1),
        ]
        with m.If(group.members_left == 0):
            m.d.sync += self.state.eq(follow)

    def _read_row(self, m: Module) -> None:
        """Read the row of the completion being taken; it has priority over the group's reads."""
        with m.If(self.taken):
            m.d.comb += [
                self.table.read_address.eq(self._row_of(self.completions.p.dispatch_index)),
                self.table.read.eq(1),
            ]

    def _report(self, m: Module) -> None:
        suspect, tile = self.queue.suspect, self.tile
        lost_dispatch_index = Signal(self._p.dispatch_index_bits)
        lost_wavefront = Signal(self._p.wavefront_bits)
        m.d.comb += [
            self.error.valid.eq(self.lost | self.queue.lost),
            self.error.report.code.eq(ErrorCode.TRIGGER_CORRUPT),
            self.error.report.dispatch_index.eq(
                Mux(self.lost, lost_dispatch_index, suspect.dispatch_index)
            ),
            self.error.report.wavefront.eq(Mux(self.lost, lost_wavefront, suspect.wavefront)),
        ]
        # In GROUP, ``tile`` may already be the next completion.
        member = self.group.member
        with m.Switch(self.state):
            with m.Case(State.TILE):
                m.d.comb += [
                    lost_dispatch_index.eq(tile.dispatch_index),
                    lost_wavefront.eq(tile.wavefront),
                ]
            with m.Case(State.GROUP):
                m.d.comb += lost_dispatch_index.eq(member + self.group.found.below)
            with m.Default():
                m.d.comb += lost_dispatch_index.eq(member)
