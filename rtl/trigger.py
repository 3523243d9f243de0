"""The trigger unit: complete tiles make DMA commands ready."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .layouts import Action, Completion, Granularity, MapConfiguration, ReadyCommand
from .parameters import T3Parameters
from .select import one_hot_first, one_hot_select

__all__ = ["Trigger"]


class _State(enum.Enum):
    CLEAR = 0
    IDLE = 1
    LOOKUP = 2
    TILE = 3
    GROUP = 4
    RELEASE = 5


class Trigger(wiring.Component):
    """Counts the complete tiles of each workgroup, and the complete workgroups of each group.

    A completion is taken every second cycle; one that completes a group of WORKGROUP commands takes
    one cycle for the group and one for each of its commands more. A command is visible four cycles
    after its tile's completion was taken, with WORKGROUP six.

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
        state = Signal(_State)

        # Taken in IDLE, and while the one before is in TILE; then it may have to wait for a group.
        tile = Signal(Completion(p), reset_less=True)
        waits = Signal()
        take = Signal()
        m.d.comb += [
            self.complete_place.eq(tile.place),
            take.eq(self.completions.valid & self.completions.ready),
        ]
        with m.If(take):
            m.d.sync += [tile.eq(self.completions.p), self.tiles.eq(self.tiles + 1)]

        # The range of the tile, and what of its command matters here.
        ranges, commands = list(self.maps.ranges), list(self.maps.commands)
        of_range = one_hot_first(
            Cat(e.enable & (e.first <= tile.place) & (tile.place <= e.last) for e in ranges)
        )
        number = Signal.like(ranges[0].command)
        action = Signal(Action)
        m.d.comb += [
            number.eq(one_hot_select(of_range, (entry.command for entry in ranges))),
            action.eq(one_hot_select(of_range, (entry.action for entry in ranges))),
        ]
        entry = Array(commands)[number]
        found = Signal()
        is_dma = Signal()
        by_wavefront = Signal()
        command = Signal.like(number)
        first = Signal(p.place_bits)
        last = Signal(p.place_bits)
        mask = Signal(p.place_bits)
        waves = Signal(4)
        with m.If(state == _State.LOOKUP):
            m.d.sync += [
                found.eq(action != Action.NONE),
                is_dma.eq(action == Action.DMA),
                by_wavefront.eq(entry.granularity == Granularity.WAVEFRONT),
                command.eq(number),
                first.eq(one_hot_select(of_range, (entry.first for entry in ranges))),
                last.eq(one_hot_select(of_range, (entry.last for entry in ranges))),
                mask.eq((1 << entry.group_log2) - 1),
                waves.eq(entry.waves[Cat(tile.row_edge, tile.run_edge)]),
            ]

        row = table_read.data
        tiles = Signal(4)
        start = Signal(p.atom_address_bits)
        full = Signal()
        m.d.comb += [
            tiles.eq(row.tiles + 1),
            start.eq(Mux((row.tiles != 0) & (row.start < tile.start), row.start, tile.start)),
            full.eq(row.tiles + 1 == waves),  # a workgroup without waves is never full
        ]
        # The place's group, kept for the states after TILE.
        into_group = (tile.place - first) & mask
        group_first = Signal(p.place_bits, reset_less=True)
        group_size = Signal(p.place_bits)  # less one
        members_left = Signal(p.place_bits, reset_less=True)
        member = Signal(p.place_bits, reset_less=True)
        to_last = (last - group_first)[: p.place_bits]
        m.d.comb += group_size.eq(Mux(to_last < mask, to_last, mask))
        clear_row = Signal(range(depth))

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
                m.d.comb += self.completions.ready.eq(1)
                with m.If(take):
                    m.d.sync += state.eq(_State.LOOKUP)

            with m.Case(_State.LOOKUP):
                m.d.comb += [
                    table_read.addr.eq(tile.place[:index_bits]),
                    table_read.en.eq(1),
                ]
                m.d.sync += [waits.eq(0), state.eq(_State.TILE)]

            with m.Case(_State.TILE):
                m.d.comb += [
                    self.completions.ready.eq(1),
                    table_write.addr.eq(tile.place[:index_bits]),
                    table_write.data.tiles.eq(Mux(full, 0, tiles)),
                    table_write.data.start.eq(start),
                    table_write.data.row_edge.eq(tile.row_edge),
                    table_write.data.run_edge.eq(tile.run_edge),
                    table_write.en.eq(found),
                    push.command.eq(command),
                    push.place.eq(tile.place),
                    push.wavefront.eq(tile.wavefront),
                    push.start.eq(tile.start),
                    push.row_edge.eq(tile.row_edge),
                    push.run_edge.eq(tile.run_edge),
                    push.last.eq(full),
                    queue.w_en.eq(is_dma & by_wavefront),
                    groups_read.addr.eq((tile.place - into_group)[:index_bits]),
                    groups_read.en.eq(1),
                    self.complete.eq(found & full),
                    self.own.eq(found & full & ~is_dma),
                ]
                m.d.sync += [
                    group_first.eq(tile.place - into_group),
                    waits.eq(take),
                    state.eq(Mux(take, _State.LOOKUP, _State.IDLE)),
                ]
                with m.If(is_dma & ~by_wavefront & full):
                    m.d.sync += state.eq(_State.GROUP)

            with m.Case(_State.GROUP):
                whole = groups_read.data == group_size
                m.d.comb += [
                    groups_write.addr.eq(group_first[:index_bits]),
                    groups_write.data.eq(Mux(whole, 0, groups_read.data + 1)),
                    groups_write.en.eq(1),
                    table_read.addr.eq(group_first[:index_bits]),
                    table_read.en.eq(1),
                ]
                m.d.sync += [
                    member.eq(group_first),
                    members_left.eq(group_size),
                    state.eq(Mux(waits, _State.LOOKUP, _State.IDLE)),
                ]
                with m.If(whole):
                    m.d.sync += state.eq(_State.RELEASE)

            with m.Case(_State.RELEASE):  # the row of `member` is there
                following = (member + 1)[: p.place_bits]
                m.d.comb += [
                    push.command.eq(command),
                    push.place.eq(member),
                    push.start.eq(row.start),
                    push.row_edge.eq(row.row_edge),
                    push.run_edge.eq(row.run_edge),
                    push.last.eq(1),
                    queue.w_en.eq(1),
                    table_read.addr.eq(following[:index_bits]),
                    table_read.en.eq(1),
                ]
                m.d.sync += [member.eq(following), members_left.eq(members_left - 1)]
                with m.If(members_left == 0):
                    m.d.sync += state.eq(Mux(waits, _State.LOOKUP, _State.IDLE))

        with m.If(self.clear):
            m.d.sync += [state.eq(_State.CLEAR), clear_row.eq(0), waits.eq(0)]
        return m
