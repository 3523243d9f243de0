"""The trigger unit: complete tiles make DMA commands ready."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import MapConfiguration
from rtl.interface.encodings import Action, ErrorCode, Granularity
from rtl.interface.layouts import Completion, ReadyCommand
from rtl.interface.signatures import ErrorSignature
from rtl.lib.compare import less_than
from rtl.lib.protected_memory import ProtectedMemory
from rtl.lib.protected_queue import ProtectedQueue
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

from .tile_lookup import TileLookup

__all__ = ["Trigger"]

GROUP_BITS = 7  # dispatch indices of a group, less one


class _State(enum.Enum):
    CLEAR = 0
    IDLE = 1
    LOOKUP = 2
    TILE = 3
    GROUP = 4
    RELEASE = 5


class Trigger(wiring.Component):
    """Counts the complete tiles of each workgroup, and the complete workgroups of each group.

    A completion is taken every second cycle; one that completes a workgroup of a WORKGROUP command
    takes one cycle more, and one for each command that it makes ready. A command is visible five
    cycles after its tile's completion was taken, with WORKGROUP seven.

    Counts and commands are kept with check bits. One wrong bit is corrected; what has two is left
    out and reported, so the workgroup never completes, or its command is never ready.

    Parameters
    ----------
    p : :class:`T3Parameters`
        ``credit_window`` workgroups are under way at most; ``command_depth`` commands
        wait.

    Members
    -------
    completions : In(stream)
        ``ready`` does not depend on ``valid``.
    ready : Out(stream)
        Commands whose trigger condition holds.
    maps : In(:func:`MapConfiguration`)
    clear : In(1)
        Strobe: forgets all counts, one workgroup per cycle. Commands already ready stay.
    clearing : Out(1)
        On meanwhile, also after reset. Nothing is taken.
    complete, complete_dispatch_index : Out
        Strobe: a workgroup is complete.
    own : Out(1)
        With ``complete``: it needs no DMA.
    tiles : Out(32)
        Completions taken since reset.
    empty : Out(1)
        No command is ready.
    error : Out(:class:`ErrorSignature`)
        What a memory has lost.
    corrected : Out(1)
        In this cycle, a wrong bit was corrected.
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
                "error": Out(ErrorSignature(p)),
                "corrected": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p = self._p
        rows = p.credit_window
        depth = max(rows, 2)  # with one row there would be no address
        index_bits = (rows - 1).bit_length()
        row_shape = data.StructLayout(
            {"tiles": 4, "start": p.atom_address_bits, "outer_edge": 1, "inner_edge": 1}
        )
        m.submodules.table = table = ProtectedMemory(row_shape, depth=depth)
        m.submodules.groups = groups = ProtectedMemory(unsigned(8), depth=depth)
        m.submodules.queue = queue = ProtectedQueue(ReadyCommand(p), depth=p.command_depth)
        push = queue.i.p
        wiring.connect(m, queue.o, wiring.flipped(self.ready))
        m.d.comb += self.empty.eq(queue.empty)

        m.submodules.tile_count = tile_count = WideCounter(len(self.tiles))
        m.d.comb += [
            tile_count.step.eq(self.completions.valid & self.completions.ready),
            self.tiles.eq(tile_count.o),
        ]
        tile = Signal(Completion(p), reset_less=True)
        waiting = Signal()  # ``tile`` is not looked up yet
        taken = Signal()
        m.d.comb += [
            taken.eq(self.completions.valid & self.completions.ready),
            self.complete_dispatch_index.eq(tile.dispatch_index),
        ]
        with m.If(taken):
            m.d.sync += tile.eq(self.completions.p)

        # The row of a tile is read when the tile is taken, and corrected in the next cycle. The
        # tile before it may write that row in the cycle in which it is read.
        row = Signal(row_shape, reset_less=True)
        row_lost = Signal()
        fetched = Signal()
        written = Signal(row_shape, reset_less=True)
        rewritten = Signal()
        lost = Signal()
        m.d.sync += [
            fetched.eq(taken),
            written.eq(table.i),
            rewritten.eq(
                table.write
                & (
                    tile.dispatch_index[:index_bits]
                    == self.completions.p.dispatch_index[:index_bits]
                )
            ),
        ]
        with m.If(fetched):
            m.d.sync += [
                row.eq(Mux(rewritten, written, table.o)),
                row_lost.eq(table.lost & ~rewritten),
            ]
            m.d.comb += self.corrected.eq(table.corrected & ~rewritten)
        with m.If(queue.corrected):
            m.d.comb += self.corrected.eq(1)

        m.submodules.lookup = lookup = TileLookup(p)
        m.d.comb += [lookup.tile.eq(tile), lookup.maps.eq(self.maps)]
        entry = lookup.o
        dma = entry.action == Action.DMA
        mapped = entry.action != Action.NONE

        tiles = Signal(4)
        start = Signal(p.atom_address_bits)
        full = Signal()
        keep_start = (row.tiles != 0) & less_than(row.start, tile.start)
        m.d.comb += [
            tiles.eq(row.tiles + 1),
            start.eq(Mux(keep_start, row.start, tile.start)),
            full.eq((row.tiles + 1 == entry.waves) & ~row_lost),
        ]

        # The dispatch index's group: first dispatch index, and how many more it has. Kept for the
        # states after TILE.
        mask = Signal(GROUP_BITS)
        below = Signal(GROUP_BITS)  # dispatch indices of the group before this one
        first = Signal(p.dispatch_index_bits)
        rest = Signal(p.dispatch_index_bits)  # dispatch indices of the range behind this one
        m.d.comb += [
            mask.eq((1 << entry.group_log2) - 1),
            below.eq((tile.dispatch_index - entry.first) & mask),
            first.eq(tile.dispatch_index - below),
            rest.eq(entry.last - tile.dispatch_index),
        ]
        group = Signal(
            data.StructLayout(
                {
                    "mask": GROUP_BITS,
                    "below": GROUP_BITS,
                    "rest": GROUP_BITS,  # no group has more
                    "command": entry.command.shape(),
                }
            ),
            reset_less=True,
        )
        member = Signal(p.dispatch_index_bits, reset_less=True)
        members_left = Signal(GROUP_BITS, reset_less=True)
        count = groups.o
        short = Signal()  # the range ends within the group
        to_range_end = Signal(GROUP_BITS)
        whole_group = Signal()
        m.d.comb += [
            short.eq(group.rest < (group.mask & ~group.below)),
            to_range_end.eq(group.below + group.rest),
            whole_group.eq(Mux(short, count == to_range_end, count == group.mask)),
        ]

        clear_row = Signal(range(depth))
        state = Signal(_State)
        follow = Signal(_State)  # after one that was worked off
        m.d.comb += follow.eq(Mux(waiting, _State.LOOKUP, _State.IDLE))

        with m.Switch(state):
            with m.Case(_State.CLEAR):
                m.d.comb += [
                    self.clearing.eq(1),
                    table.write_address.eq(clear_row),
                    table.write.eq(1),
                    groups.write_address.eq(clear_row),
                    groups.write.eq(1),
                ]
                m.d.sync += clear_row.eq(clear_row + 1)
                with m.If(clear_row == rows - 1):
                    m.d.sync += state.eq(_State.IDLE)

            with m.Case(_State.IDLE):
                m.d.comb += self.completions.ready.eq(1)
                with m.If(taken):
                    m.d.sync += state.eq(_State.LOOKUP)

            with m.Case(_State.LOOKUP):
                m.d.sync += state.eq(_State.TILE)

            with m.Case(_State.TILE):
                m.d.comb += [
                    self.completions.ready.eq(1),
                    table.write_address.eq(tile.dispatch_index[:index_bits]),
                    table.i.tiles.eq(Mux(full, 0, tiles)),
                    table.i.start.eq(start),
                    table.i.outer_edge.eq(tile.outer_edge),
                    table.i.inner_edge.eq(tile.inner_edge),
                    table.write.eq(mapped & ~row_lost),
                    self.complete.eq(full & mapped),
                    self.own.eq(self.complete & ~dma),
                    push.command.eq(entry.command),
                    push.dispatch_index.eq(tile.dispatch_index),
                    push.wavefront.eq(tile.wavefront),
                    push.start.eq(tile.start),
                    push.outer_edge.eq(tile.outer_edge),
                    push.inner_edge.eq(tile.inner_edge),
                    push.last.eq(full),
                    queue.i.valid.eq(
                        dma & (entry.granularity == Granularity.WAVEFRONT) & ~row_lost
                    ),
                    lost.eq(mapped & row_lost),
                    groups.read_address.eq(first[:index_bits]),
                    groups.read.eq(1),
                ]
                m.d.sync += [
                    waiting.eq(self.completions.valid),
                    member.eq(first),
                    group.mask.eq(mask),
                    group.below.eq(below),
                    group.rest.eq(
                        rest[:GROUP_BITS] | rest[GROUP_BITS:].any().replicate(GROUP_BITS)
                    ),
                    group.command.eq(entry.command),
                    state.eq(Mux(self.completions.valid, _State.LOOKUP, _State.IDLE)),
                ]
                with m.If(dma & (entry.granularity == Granularity.WORKGROUP) & full):
                    m.d.sync += state.eq(_State.GROUP)

            with m.Case(_State.GROUP):
                m.d.comb += [
                    groups.write_address.eq(member[:index_bits]),
                    groups.i.eq(Mux(whole_group, 0, count + 1)),
                    groups.write.eq(~groups.lost),
                    lost.eq(groups.lost),
                    table.read_address.eq(member[:index_bits]),
                    table.read.eq(1),
                ]
                with m.If(groups.corrected):
                    m.d.comb += self.corrected.eq(1)
                m.d.sync += [
                    members_left.eq(Mux(short, to_range_end, group.mask)),
                    state.eq(Mux(whole_group & ~groups.lost, _State.RELEASE, follow)),
                ]

            with m.Case(_State.RELEASE):  # the row of `member` is there
                m.d.comb += [
                    push.command.eq(group.command),
                    push.dispatch_index.eq(member),
                    push.start.eq(table.o.start),
                    push.outer_edge.eq(table.o.outer_edge),
                    push.inner_edge.eq(table.o.inner_edge),
                    push.last.eq(1),
                    queue.i.valid.eq(~table.lost),
                    lost.eq(table.lost),
                    table.read_address.eq((member + 1)[:index_bits]),
                    table.read.eq(1),
                ]
                with m.If(table.corrected):
                    m.d.comb += self.corrected.eq(1)
                m.d.sync += [member.eq(member + 1), members_left.eq(members_left - 1)]
                with m.If(members_left == 0):
                    m.d.sync += state.eq(follow)

        with m.If(taken):
            m.d.comb += [
                table.read_address.eq(self.completions.p.dispatch_index[:index_bits]),
                table.read.eq(1),
            ]
        with m.If(self.clear):
            m.d.sync += [state.eq(_State.CLEAR), clear_row.eq(0)]

        lost_dispatch_index = Signal(p.dispatch_index_bits)
        m.d.comb += [
            self.error.valid.eq(lost | queue.lost),
            lost_dispatch_index.eq(Mux(state == _State.RELEASE, member, tile.dispatch_index)),
            self.error.report.eq(
                Cat(
                    Const(ErrorCode.TRIGGER_CORRUPT),
                    Mux(lost, lost_dispatch_index, queue.suspect.dispatch_index),
                    Mux(lost, tile.wavefront, queue.suspect.wavefront),
                )
            ),
        ]
        return m
