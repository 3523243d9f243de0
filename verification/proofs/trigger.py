"""Proof of the trigger unit: each command becomes ready once, when its tile or group is
complete."""

from types import SimpleNamespace

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from rtl.interface.encodings import Action, Granularity
from rtl.interface.layouts import ReadyCommand
from rtl.parameters import T3Parameters
from rtl.trigger.trigger import Trigger

from .proof import Proof
from .streams import assert_held, free, moves
from .trigger_inside import assert_inside

__all__ = ["PROOFS"]

_P = T3Parameters(
    contexts=1,
    system_channels=1,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=11,
    workgroup_bits=3,
    wavefronts=2,
    regions=1,
    ranges=2,
    commands=2,
    sets=1,
    credit_window=4,
    command_depth=4,
)
_ROWS = _P.credit_window
_MOST_LOG2 = 1  # log2 of a group's workgroups: at most half of the credit window
_LONGEST = 5  # bound on the cycles without taking a completion


class TriggerHarness(Elaboratable):
    """Harness that counts completed tiles and workgroups, and observes one arbitrary command.

    Tracker, credit window and driver guarantee the assumptions: a tile completes once, and a
    workgroup completes only the tiles that it writes; a row of the tables serves one workgroup or
    group until that is complete; the ready commands fit into the queue; ranges do not overlap. The
    maps are arbitrary constants, and only a reset clears the unit.
    """

    def __init__(self, trigger: type = Trigger):
        self._trigger = trigger

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._trigger(_P)
        free(m, dut.completions.valid, dut.completions.p, dut.ready.ready)
        m.d.comb += Value.cast(dut.maps).eq(AnyConst(len(Value.cast(dut.maps))))
        first, second = dut.maps.ranges
        m.d.comb += [
            Assume((first.last < second.first) | (second.last < first.first)),
            *(Assume(entry.first <= entry.last) for entry in dut.maps.ranges),
            *(Assume(entry.group_log2 <= _MOST_LOG2) for entry in dut.maps.commands),
        ]
        assert_held(m, dut.ready, "ready")

        taken = Signal()
        m.d.comb += taken.eq(moves(dut.completions))
        ghost = self._count(m, dut, taken)
        self._follow(m, dut, taken, ghost)
        self._assert_strobes(m, dut, taken, ghost)
        self._assert_progress(m, dut, taken, ghost)
        assert_inside(m, dut, ghost)
        return m

    def entry_of(self, m: Module, maps, dispatch_index, name: str) -> SimpleNamespace:
        """Look up the map entry of a dispatch index, and its group."""
        entry = SimpleNamespace(
            action=Signal(Action, name=f"{name}_action"),
            first=Signal(_P.dispatch_index_bits, name=f"{name}_range_first"),
            last=Signal(_P.dispatch_index_bits, name=f"{name}_range_last"),
            command=Signal(1, name=f"{name}_command"),
        )
        number = Signal(1, name=f"{name}_range")
        for index, one in enumerate(maps.ranges):
            with m.If(one.enable & (one.first <= dispatch_index) & (dispatch_index <= one.last)):
                m.d.comb += [getattr(entry, key).eq(one[key]) for key in vars(entry)]
                m.d.comb += number.eq(index)
        entry.range = number
        template = maps.commands[entry.command]
        entry.template = template
        dma = entry.action == Action.DMA
        entry.mapped = entry.action != Action.NONE
        entry.own = entry.mapped & ~dma
        entry.each = dma & (template.granularity == Granularity.WAVEFRONT)
        entry.grouped = dma & (template.granularity == Granularity.WORKGROUP)
        entry.group = Signal(
            _P.dispatch_index_bits, name=f"{name}_group"
        )  # first dispatch index of the group
        entry.size = Signal(range(3), name=f"{name}_group_size")
        behind = (dispatch_index - entry.first)[: _P.dispatch_index_bits]
        in_pairs = template.group_log2[0]
        m.d.comb += [
            entry.group.eq(dispatch_index - (in_pairs & behind[0])),
            entry.size.eq(Mux(in_pairs & (entry.group != entry.last), 2, 1)),
        ]
        return entry

    def _ghost(self, m: Module, dut) -> SimpleNamespace:
        """Make ghost tables that include every completion that was taken."""
        row_shape = data.StructLayout(
            {
                # Some tile is complete, but the dispatch index or its group is not.
                "busy": 1,
                "complete": 1,  # the dispatch index is complete, its group is not
                "dispatch_index": _P.dispatch_index_bits,
                "tiles": 4,
                "start": _P.atom_address_bits,
                "edges": 2,
            }
        )
        group_shape = data.StructLayout({"busy": 1, "first": _P.dispatch_index_bits, "count": 2})
        return SimpleNamespace(
            rows=Signal(data.ArrayLayout(row_shape, _ROWS), name="rows"),
            groups=Signal(data.ArrayLayout(group_shape, _ROWS), name="groups"),
            ready=Signal(range(_P.command_depth + 1), name="commands_ready"),
            capacity=_P.command_depth,
            entry_of=lambda dispatch_index, name: self.entry_of(m, dut.maps, dispatch_index, name),
        )

    def _counted(self, m: Module, tile, ghost: SimpleNamespace) -> SimpleNamespace:
        """Compute the effect of a tile on the tables."""
        entry = ghost.entry_of(tile.dispatch_index, "taken")
        row = ghost.rows[tile.dispatch_index[:2]]
        group = ghost.groups[entry.group[:2]]
        new = SimpleNamespace(
            entry=entry,
            row=Signal.like(row, name="new_row"),
            full=Signal(name="new_full"),
            grouped=Signal(name="new_grouped"),  # the tile completes a dispatch index of a group
            released=Signal(name="new_released"),  # the tile completes the group
            commands=Signal(range(3), name="new_commands"),
        )
        waves = entry.template.waves[tile.inner_edge * 2 + tile.outer_edge]
        m.d.comb += [
            new.full.eq(entry.mapped & (row.tiles + 1 == waves)),
            new.grouped.eq(new.full & entry.grouped),
            new.released.eq(new.grouped & (group.count + 1 == entry.size)),
            new.commands.eq(Mux(new.released, entry.size, entry.each)),
            new.row.busy.eq(~new.full | (new.grouped & ~new.released)),
            new.row.complete.eq(new.grouped & ~new.released),
            new.row.dispatch_index.eq(tile.dispatch_index),
            new.row.tiles.eq(Mux(new.full, 0, row.tiles + 1)),
            new.row.start.eq(
                Mux((row.tiles != 0) & (row.start < tile.start), row.start, tile.start)
            ),
            new.row.edges.eq(Value.cast(tile)[-2:]),
        ]
        return new

    def _count(self, m: Module, dut, taken: Signal) -> SimpleNamespace:
        """Count the taken tiles, and assume that each of them is allowed."""
        tile, ghost = dut.completions.p, self._ghost(m, dut)
        ghost.new = new = self._counted(m, tile, ghost)
        entry = new.entry
        row = ghost.rows[tile.dispatch_index[:2]]
        group = ghost.groups[entry.group[:2]]
        with m.If(taken & entry.mapped):
            m.d.comb += [
                Assume(
                    ~row.busy
                    | (
                        (row.dispatch_index == tile.dispatch_index)
                        & ~row.complete
                        & (row.edges == Value.cast(tile)[-2:])
                    )
                ),
                Assume(~entry.grouped | ~group.busy | (group.first == entry.group)),
                Assume(ghost.ready + new.commands <= _P.command_depth),
            ]
            m.d.sync += row.eq(new.row)
            with m.If(new.grouped):
                m.d.sync += [
                    group.busy.eq(~new.released),
                    group.first.eq(entry.group),
                    group.count.eq(Mux(new.released, 0, group.count + 1)),
                ]
            with m.If(new.released & (entry.size == 2)):
                mate = Mux(tile.dispatch_index == entry.group, entry.group + 1, entry.group)
                for index in range(_ROWS):
                    with m.If((mate % _ROWS == index) & (mate != tile.dispatch_index)):
                        m.d.sync += [
                            ghost.rows[index].busy.eq(0),
                            ghost.rows[index].complete.eq(0),
                        ]
        m.d.sync += ghost.ready.eq(ghost.ready + Mux(taken, new.commands, 0) - moves(dut.ready))
        return ghost

    def _follow(self, m: Module, dut, taken: Signal, ghost: SimpleNamespace) -> None:
        """Observe the command of one tile or dispatch index: it is right, and leaves when due."""
        tile, new, entry = dut.completions.p, ghost.new, ghost.new.entry
        dispatch_index, wavefront = Signal.like(tile.dispatch_index), Signal.like(tile.wavefront)
        m.d.comb += [one.eq(AnyConst(len(one))) for one in (dispatch_index, wavefront)]
        ghost.dispatch_index, ghost.wavefront = dispatch_index, wavefront
        ghost.of_dispatch_index = ghost.entry_of(dispatch_index, "followed")
        ghost.due = due = Signal(name="due")
        ghost.command = command = Signal(ReadyCommand(_P), name="due_command")

        def followed(one) -> Value:
            return (one.dispatch_index == dispatch_index) & (
                ~ghost.of_dispatch_index.each | (one.wavefront == wavefront)
            )

        ghost.followed = followed
        leaves = Signal()
        becomes_due = Signal()
        m.d.comb += leaves.eq(moves(dut.ready) & followed(dut.ready.p))
        with m.If(taken & entry.each):
            m.d.comb += becomes_due.eq(followed(tile))
        with m.If(taken & new.released):
            m.d.comb += becomes_due.eq(
                (dispatch_index - entry.group)[: _P.dispatch_index_bits] < entry.size
            )
        own_row = ghost.rows[dispatch_index[:2]]
        start = Mux(dispatch_index == tile.dispatch_index, new.row.start, own_row.start)
        edges = Mux(dispatch_index == tile.dispatch_index, new.row.edges, own_row.edges)
        with m.If(leaves):
            m.d.sync += due.eq(0)
        with m.If(becomes_due):
            m.d.sync += [
                due.eq(1),
                command.range.eq(entry.range),
                command.dispatch_index.eq(dispatch_index),
                command.wavefront.eq(Mux(entry.each, tile.wavefront, 0)),
                command.start.eq(Mux(entry.each, tile.start, start)),
                command.outer_edge.eq(edges[0]),
                command.inner_edge.eq(edges[1]),
                command.last.eq(~entry.each | new.full),
            ]
        of_other = taken & new.released & (dispatch_index != tile.dispatch_index) & becomes_due
        m.d.comb += [
            Assume(~(taken & entry.mapped & followed(tile)) | ~due),
            Assert(
                ~of_other | (own_row.complete & (own_row.dispatch_index == dispatch_index)),
                "released by tiles of another dispatch index",
            ),
            Assert(~dut.ready.valid | (ghost.ready != 0), "a command without a cause"),
            Assert(
                ~(dut.ready.valid & followed(dut.ready.p)) | due,
                "a command leaves twice, or before its tiles are complete",
            ),
            Assert(
                ~(dut.ready.valid & followed(dut.ready.p)) | (dut.ready.p == command),
                "a command is wrong",
            ),
            Cover(leaves & ghost.of_dispatch_index.each & (dut.tiles == 2), "a command of a tile"),
            Cover(
                leaves & ghost.of_dispatch_index.each & ~command.last,
                "a command of a tile that is not the last",
            ),
            Cover(
                leaves
                & ghost.of_dispatch_index.grouped
                & (dispatch_index != ghost.of_dispatch_index.group),
                "a command of the second dispatch index of a group",
            ),
            Cover(ghost.ready == _P.command_depth, "the largest number of commands"),
        ]

    def _assert_strobes(self, m: Module, dut, taken: Signal, ghost: SimpleNamespace) -> None:
        """Assert that a dispatch index is reported complete once for each completion."""
        ghost.unreported = unreported = Signal(name="unreported")
        reported = Signal()
        m.d.comb += reported.eq(
            dut.complete & (dut.complete_dispatch_index == ghost.dispatch_index)
        )
        with m.If(
            taken & ghost.new.full & (dut.completions.p.dispatch_index == ghost.dispatch_index)
        ):
            m.d.sync += unreported.eq(1)
        with m.Elif(reported):
            m.d.sync += unreported.eq(0)
        m.d.comb += [
            Assert(~reported | unreported, "a dispatch index is reported twice, or too early"),
            Assert(~reported | (dut.own == ghost.of_dispatch_index.own), "own: differs"),
            Assert(dut.complete | ~dut.own, "own without complete"),
            Assert(~dut.error.valid, "an error without a bit error"),
            Assert(~dut.corrected, "a correction without a bit error"),
            Cover(reported & dut.own, "an own dispatch index is complete"),
        ]

    def _assert_progress(self, m: Module, dut, taken: Signal, ghost: SimpleNamespace) -> None:
        """Assert that the unit takes completions soon, and that nothing is due without work."""
        busy = Signal(range(_LONGEST + 2))
        passed = Signal()  # in the previous cycle, the unit was ready, but took no completion
        quiet = Signal()
        m.d.sync += passed.eq(dut.completions.ready & ~taken)
        m.d.comb += quiet.eq(passed & dut.completions.ready)
        with m.If(dut.completions.ready | dut.clearing):
            m.d.sync += busy.eq(0)
        with m.Else():
            m.d.sync += busy.eq(busy + 1)
        ghost.busy, ghost.quiet, ghost.passed = busy, quiet, passed
        m.d.comb += [
            Assert(busy < _LONGEST, "no completion is taken although there is space"),
            Assert(~(quiet & dut.empty) | (ghost.ready == 0), "commands are lost"),
            Assert(~(quiet & dut.empty) | ~ghost.due, "a command is lost"),
            Assert(~quiet | ~ghost.unreported, "a complete dispatch index is not reported"),
            Cover(busy == _LONGEST - 1, "the longest time without a completion"),
            Cover(quiet & ~dut.empty & ~dut.ready.valid, "a command passes through the queue"),
        ]


PROOFS = (
    Proof(
        name="trigger",
        statement="Each command becomes ready once, with the right fields, when its tile is "
        "complete or, with granularity by workgroup, when all tiles of all workgroups of its group "
        "are complete, and never before; no command is lost under any back-pressure; a workgroup "
        "is reported complete once, after its last tile; the next completion is taken within 5 "
        "cycles",
        blocks=(Trigger,),
        harness=TriggerHarness,
        geometry="4 admitted workgroups, groups of 1 or 2, 2 wavefronts, 8 dispatch indices, 2 "
        "ranges, 2 commands, space for 4, addresses of 2 bits, memories without bit errors",
        reason="rows are selected by low bits of a dispatch index, and addresses are only compared",
        depth=1,
        cover_depth=26,
        slow=True,
    ),
)
