"""The trigger unit: complete tiles make DMA commands ready."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .layouts import Action, Completion, Granularity, MapConfiguration, ReadyCommand
from .parameters import T3Parameters

__all__ = ["Trigger"]


class _State(enum.Enum):
    CLEAR = 0
    IDLE = 1
    TILE = 2
    GROUP = 3
    RELEASE = 4


class Trigger(wiring.Component):
    """Counts the complete tiles of each workgroup, and the complete workgroups of each group.

    A completion is taken every second cycle; one that completes a group of WORKGROUP commands takes
    one cycle for the group and one for each of its commands more. A command is visible three cycles
    after its tile's completion was taken, with WORKGROUP five.

    Parameters
    ----------
    p : :class:`T3Parameters`
        ``window_workgroups`` workgroups are under way at most; ``command_depth`` commands wait.

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
    complete, complete_place : Out
        Strobe: a workgroup is complete.
    own : Out(1)
        With ``complete``: it needs no DMA.
    tiles : Out(32)
        Completions taken since reset.
    empty : Out(1)
        No command is ready.
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
                "complete_place": Out(p.place_bits),
                "own": Out(1),
                "tiles": Out(32),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p = self._p
        rows = p.window_workgroups
        depth = max(rows, 2)  # with one row there would be no address
        index_bits = (rows - 1).bit_length()
        row_shape = data.StructLayout(
            {"tiles": 4, "start": p.atom_address_bits, "row_edge": 1, "run_edge": 1}
        )
        m.submodules.table = table = Memory(shape=row_shape, depth=depth, init=[])
        table_write = table.write_port()
        table_read = table.read_port()
        m.submodules.groups = groups = Memory(shape=8, depth=depth, init=[])
        groups_write = groups.write_port()
        groups_read = groups.read_port()

        m.submodules.queue = queue = SyncFIFOBuffered(
            width=ReadyCommand(p).size, depth=p.command_depth
        )
        push = Signal(ReadyCommand(p))
        m.d.comb += [
            queue.w_data.eq(push),
            self.ready.p.eq(queue.r_data),
            self.ready.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.ready.ready),
            self.empty.eq(queue.level == 0),
        ]

        tile = Signal(Completion(p), reset_less=True)
        m.d.comb += self.complete_place.eq(tile.place)

        # The range of the tile, and what of its command matters here.
        found = Signal()
        first = Signal(p.place_bits)
        last = Signal(p.place_bits)
        action = Signal(Action)
        command = Signal(ReadyCommand(p)["command"].shape)
        for entry in reversed(list(self.maps.ranges)):
            with m.If(entry.enable & (entry.first <= tile.place) & (tile.place <= entry.last)):
                m.d.comb += [
                    found.eq(entry.action != Action.NONE),
                    first.eq(entry.first),
                    last.eq(entry.last),
                    action.eq(entry.action),
                    command.eq(entry.command),
                ]
        commands = list(self.maps.commands)
        by_wavefront = Array(c.granularity == Granularity.WAVEFRONT for c in commands)[command]
        group_log2 = Array(c.group_log2 for c in commands)[command]
        waves = Signal(data.ArrayLayout(4, 4))
        m.d.comb += waves.eq(Array(c.waves for c in commands)[command])

        # The place's group, kept for the states after TILE.
        mask = Signal(p.place_bits)
        group_first = Signal(p.place_bits, reset_less=True)
        group_last = Signal(p.place_bits, reset_less=True)
        group_command = Signal.like(command, reset_less=True)
        next_first = Signal(p.place_bits)
        next_last = Signal(p.place_bits)
        member = Signal(p.place_bits, reset_less=True)
        m.d.comb += [
            mask.eq((1 << group_log2) - 1),
            next_first.eq(first + ((tile.place - first) & ~mask)),
            next_last.eq(Mux(last - next_first < mask, last, next_first + mask)),
        ]

        row = table_read.data
        tiles = Signal(4)
        start = Signal(p.atom_address_bits)
        full = Signal()
        m.d.comb += [
            tiles.eq(row.tiles + 1),
            start.eq(Mux((row.tiles != 0) & (row.start < tile.start), row.start, tile.start)),
            full.eq(row.tiles + 1 == waves[Cat(tile.row_edge, tile.run_edge)]),
        ]
        count = Signal(8)
        whole_group = Signal()
        m.d.comb += [
            count.eq(groups_read.data + 1),
            whole_group.eq(count == group_last - group_first + 1),
        ]
        clear_row = Signal(range(depth))
        state = Signal(_State)

        with m.Switch(state):
            with m.Case(_State.CLEAR):
                m.d.comb += [
                    self.clearing.eq(1),
                    table_write.addr.eq(clear_row),
                    table_write.en.eq(1),
                    groups_write.addr.eq(clear_row),
                    groups_write.en.eq(1),
                ]
                m.d.sync += clear_row.eq(clear_row + 1)
                with m.If(clear_row == rows - 1):
                    m.d.sync += state.eq(_State.IDLE)

            with m.Case(_State.IDLE):
                m.d.comb += [
                    self.completions.ready.eq(1),
                    table_read.addr.eq(self.completions.p.place[:index_bits]),
                    table_read.en.eq(self.completions.valid),
                ]
                with m.If(self.completions.valid):
                    m.d.sync += [tile.eq(self.completions.p), self.tiles.eq(self.tiles + 1)]
                    m.d.sync += state.eq(_State.TILE)

            with m.Case(_State.TILE):
                m.d.sync += state.eq(_State.IDLE)
                m.d.comb += [
                    table_write.addr.eq(tile.place[:index_bits]),
                    table_write.data.tiles.eq(Mux(full, 0, tiles)),
                    table_write.data.start.eq(start),
                    table_write.data.row_edge.eq(tile.row_edge),
                    table_write.data.run_edge.eq(tile.run_edge),
                    push.command.eq(command),
                    push.place.eq(tile.place),
                    push.wavefront.eq(tile.wavefront),
                    push.start.eq(tile.start),
                    push.row_edge.eq(tile.row_edge),
                    push.run_edge.eq(tile.run_edge),
                    push.last.eq(full),
                    groups_read.addr.eq(next_first[:index_bits]),
                ]
                with m.If(found):
                    m.d.comb += [
                        table_write.en.eq(1),
                        self.complete.eq(full),
                        self.own.eq(full & (action != Action.DMA)),
                    ]
                    with m.If((action == Action.DMA) & by_wavefront):
                        m.d.comb += queue.w_en.eq(1)
                    with m.Elif((action == Action.DMA) & full):
                        m.d.comb += groups_read.en.eq(1)
                        m.d.sync += [
                            group_first.eq(next_first),
                            group_last.eq(next_last),
                            group_command.eq(command),
                            member.eq(next_first),
                        ]
                        m.d.sync += state.eq(_State.GROUP)

            with m.Case(_State.GROUP):
                m.d.comb += [
                    groups_write.addr.eq(group_first[:index_bits]),
                    groups_write.data.eq(Mux(whole_group, 0, count)),
                    groups_write.en.eq(1),
                    table_read.addr.eq(member[:index_bits]),
                    table_read.en.eq(whole_group),
                ]
                m.d.sync += state.eq(_State.IDLE)
                with m.If(whole_group):
                    m.d.sync += state.eq(_State.RELEASE)

            with m.Case(_State.RELEASE):  # the row of `member` is there
                m.d.comb += [
                    push.command.eq(group_command),
                    push.place.eq(member),
                    push.start.eq(row.start),
                    push.row_edge.eq(row.row_edge),
                    push.run_edge.eq(row.run_edge),
                    push.last.eq(1),
                    queue.w_en.eq(1),
                    table_read.addr.eq((member + 1)[:index_bits]),
                    table_read.en.eq(1),
                ]
                m.d.sync += member.eq(member + 1)
                with m.If(member == group_last):
                    m.d.sync += state.eq(_State.IDLE)

        with m.If(self.clear):
            m.d.sync += [state.eq(_State.CLEAR), clear_row.eq(0)]
        return m
