# amaranth: UnusedElaboratable=no
"""The DMA engine: walks the tile of a command, and hands it in segments to the channels' lanes."""

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import LaunchConfiguration, MapConfiguration, RegionEntry
from rtl.interface.encodings import ErrorCode, Granularity
from rtl.interface.layouts import Copy, ReadyCommand, Segment
from rtl.interface.signatures import ErrorSignature
from rtl.lib.compare import sum_less_than
from rtl.lib.interleave import check_channels
from rtl.lib.round_robin import Merge2
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.parameters import T3Parameters

from .geometry import share, workgroup_of
from .walker import RowWalker, Walk

__all__ = ["WHOLE_ROW", "DmaEngine", "State"]

WHOLE_ROW = 15  # no wavefront ends within a row


class State(enum.Enum):
    """What the engine does with the command in hand."""

    IDLE = 0
    SCALE = 1
    SHAPE = 2
    WALK = 3


class DmaEngine(wiring.Component):
    """Takes one command at a time; its walkers cut the rows where the channel changes and where a
    row ends.

    A command is taken in one cycle, its first segments leave in the third after that, then one
    segment per cycle of each walker, unless several want the same lane; in the cycle after the last
    segment the next command is taken. Segments of channels that are not served here cost their
    walker a cycle and are dropped; so are segments with an atom outside the command's region, which
    are reported. A command without rows or atoms gives no segment and takes three cycles.

    A ready command waits until the downstream GPU has admitted its workgroup; copies do not wait.
    Between the two the choice alternates.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    ready, copies : In(stream)
        Commands. Their ``ready`` depends on both ``valid``.
    segments : Out(stream).array(channels)
        To the lanes.
    maps, launch_configuration : In
        Command templates, regions and dispatch order. A command keeps its template as it is when it
        is taken, and its region as it is in the cycle after; a copy has both with it.
    remote_space : In(context_bits)
        Address space at the receiver.
    credit_limit_in : In(credit_limit_bits)
        Admission of the downstream GPU.
    aborting : In(1)
        The command in hand is dropped, and all at the ports are.
    issued : Out(1)
        A workgroup's last command is taken in this cycle.
    idle : Out(1)
        No command is here or at the ports.
    over : Out(1)
        The command in hand does not look at the tables and the launch any more.
    error : Out(:class:`ErrorSignature`)
        Segments outside the region are dropped in this cycle; of which workgroup, and wavefront if
        the command moves one's tile.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    For proofs and benches to read, never to drive. Before WALK the registers hold what their
    value is made of.

    state : Signal
    common : Signal
        What all segments have in common.
    walk : Signal
        What all walkers have in common.
    region_number, region : Signal
        Of the command; in SCALE the number only.
    is_copy, by_wavefront : Signal
        The command is a copy, or moves one wavefront's tile.
    outer_before, inner_before : Signal
        Rows, and atoms of a row, of the wavefronts before the command's.
    walkers : list of RowWalker
    waits : Signal
        A bit for each walker: it offered a segment that was not taken, and goes first.
    choice : Merge2
        Between ready commands and copies.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    ValueError
        If a channel has no address.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        check_channels(p)
        self._p = p
        super().__init__(
            {
                "ready": In(stream.Signature(ReadyCommand(p))),
                "copies": In(stream.Signature(Copy(p))),
                "segments": Out(stream.Signature(Segment(p))).array(p.channels),
                "maps": In(MapConfiguration(p)),
                "launch_configuration": In(LaunchConfiguration(p)),
                "remote_space": In(p.context_bits),
                "aborting": In(1),
                "credit_limit_in": In(p.credit_limit_bits),
                "error": Out(ErrorSignature(p)),
                "issued": Out(1),
                "idle": Out(1),
                "over": Out(1),
                "awake": Out(1),
            }
        )
        self.walkers = [RowWalker(p, number) for number in range(p.dma_walkers)]
        members, of_each = Segment(p).members, self.walkers[0].segment.shape().members
        self.state = Signal(State)
        self.common = Signal(
            data.StructLayout({name: members[name] for name in members if name not in of_each})
        )
        self.walk = Signal(Walk(p))
        self.region_number = Signal(self.maps.commands.shape().elem_shape["region"].shape)
        self.region = Signal(RegionEntry(p))
        self.is_copy = Signal()
        self.by_wavefront = Signal()
        self.outer_before = Signal(16 + p.wavefront_bits)
        self.inner_before = Signal(16 + p.wavefront_bits)
        self.waits = Signal(p.dma_walkers)
        self.choice = Merge2(1)

    def elaborate(self, platform):
        m = Module()
        copy, loads = self._choose(m)
        of_command = self._template(m, copy)
        inner_extent = self._connect(m, copy, loads)
        ended, moves = self._offer(m)
        self._report(m)
        self._wake(m, loads, moves, ended)
        with m.Switch(self.state):
            with m.Case(State.IDLE):
                with m.If(loads):
                    self._load(m, copy, of_command)
                with m.If(self.choice.o.valid):
                    m.d.sync += self.state.eq(State.SCALE)
            with m.Case(State.SCALE):
                self._scale(m)
            with m.Case(State.SHAPE):
                self._shape(m, inner_extent)
            with m.Case(State.WALK):
                with m.If(ended):
                    m.d.sync += self.state.eq(State.IDLE)
        with m.If(self.aborting):
            m.d.sync += self.state.eq(State.IDLE)
        return m

    def _choose(self, m: Module) -> tuple[Signal, Signal]:
        """Whether the chosen command is a copy, and whether registers load what is at the ports;
        whether it is taken is known too late to enable them."""
        copy = Signal()
        loads = Signal()
        m.submodules.choice = choice = self.choice
        eligible = sum_less_than(
            self.ready.p.dispatch_index, self.launch_configuration.shift, self.credit_limit_in
        )
        idle = self.state == State.IDLE
        m.d.comb += [
            choice.a.valid.eq(self.ready.valid & eligible & ~self.aborting),
            choice.b.valid.eq(self.copies.valid & ~self.aborting),
            choice.b.p.eq(1),
            choice.o.ready.eq(idle),
            copy.eq(choice.o.p),
            loads.eq(idle & (self.ready.valid | self.copies.valid)),
            self.ready.ready.eq((choice.a.ready & choice.a.valid) | self.aborting),
            self.copies.ready.eq(choice.b.ready | self.aborting),
            self.issued.eq(idle & choice.o.valid & ~copy & self.ready.p.last),
            self.idle.eq(idle & ~loads),
            self.over.eq(idle | (self.state == State.WALK)),
        ]
        return copy, loads

    def _template(self, m: Module, copy: Signal) -> Callable[[str], Value]:
        """The fields of the chosen command, by name: of a table's, or of a copy's own."""
        commands = [*self.maps.commands, self.copies.p.command]
        # The choice is late: what it selects must come by few gates.
        chosen = Signal(len(commands))
        m.d.comb += [
            chosen.eq(Cat(self.ready.p.command == index for index in range(len(commands) - 1)))
        ]
        with m.If(copy):
            m.d.comb += chosen.eq(1 << len(commands) - 1)
        return lambda name: one_hot_select(chosen, [command[name] for command in commands])

    def _connect(self, m: Module, copy: Signal, loads: Signal) -> Signal:
        """The walkers; gives the atoms of a row that the command moves, when it is shaped."""
        inner_extent = Signal(16, name="inner_extent_now")
        start = Signal(self._p.atom_address_bits)
        m.d.comb += start.eq(Mux(copy, self.copies.p.start, self.ready.p.start))
        for number, walker in enumerate(self.walkers):
            m.submodules[f"walker_{number}"] = walker
            m.d.comb += [
                walker.walk.eq(self.walk),
                walker.region.eq(self.region),
                walker.start.eq(start),
                walker.inner_extent.eq(inner_extent),
                walker.is_fixed.eq(self.is_copy | self.by_wavefront),
                walker.loads.eq(loads),
                walker.scales.eq(self.state == State.SCALE),
                walker.shapes.eq(self.state == State.SHAPE),
                walker.walks.eq(self.state == State.WALK),
            ]
        return inner_extent

    def _offer(self, m: Module) -> tuple[Value, Value]:
        """Each walker's segment to its channel's lane, one to each; gives whether all end, and
        whether one goes on or begins or ceases to wait."""
        p, walkers = self._p, self.walkers
        first, ended = Signal(len(walkers)), Signal(len(walkers))
        ready = Cat(lane.ready for lane in self.segments)
        waits = Signal.like(self.waits, name="waits_then")
        wants = []
        for index, walker in enumerate(walkers):
            here = Signal(p.channels, name=f"here_{index}")
            # A signal, since each lane would hold the expression for all of them.
            offers = Signal(p.channels, name=f"offers_{index}")
            stops = Signal(name=f"stops_{index}")
            lanes = (walker.channel == number for number in p.channel_numbers)
            m.d.comb += [
                here.eq(Cat(lanes) & walker.inside.replicate(p.channels)),
                # Where a segment goes to no lane, none stops the walk.
                stops.eq((here & ~ready).any()),
                first[index].eq(~self._is_behind(index)),
                walker.advance.eq(walker.valid & ~stops & (first[index] | ~here.any())),
                ended[index].eq(~walker.valid | (walker.advance & walker.ends)),
            ]
            if len(walkers) > 1:
                m.d.comb += waits[index].eq(walker.valid & first[index] & stops)
                m.d.sync += self.waits[index].eq(waits[index])
            with m.If(walker.valid & ~self.aborting):
                m.d.comb += offers.eq(here)
            wants.append(offers)
        for index in range(p.channels):
            self._feed(m, index, Cat(lanes[index] for lanes in wants), first)
        moves = Cat(self.waits ^ waits, *(walker.advance for walker in walkers)).any()
        return ended.all(), moves

    def _feed(self, m: Module, index: int, wants: Value, first: Value) -> None:
        """A lane's segment: that of the walker that goes first among those that want the lane."""
        lane, common = self.segments[index], self.common
        segment = Signal.like(self.walkers[0].segment, name=f"segment_{index}")
        segments = [walker.segment for walker in self.walkers]
        chosen = one_hot_select(wants & first, segments) if len(segments) > 1 else segments[0]
        m.d.comb += [lane.valid.eq(wants.any()), segment.as_value().eq(chosen)]
        m.d.comb += [lane.p[name].eq(segment[name]) for name in segment.shape().members]
        m.d.comb += [lane.p[name].eq(common[name]) for name in common.shape().members]

    def _is_behind(self, index: int) -> Value:
        """Another walker goes first in the lane that this one wants."""
        walker, behind = self.walkers[index], Const(0, 1)
        for other, before in enumerate(self.walkers):
            same = (before.channel == walker.channel) & before.inside
            if other < index:
                behind |= same & before.valid & ~self.waits[index]
            if other > index:
                behind |= same & self.waits[other]
        return behind

    def _wake(self, m: Module, loads: Signal, moves: Value, ended: Value) -> None:
        """With a command to load or to prepare, a walker that moves, and the end of a walk."""
        prepares = (self.state == State.SCALE) | (self.state == State.SHAPE)
        over = (self.state == State.WALK) & (ended | self.aborting)
        m.d.comb += self.awake.eq(loads | prepares | moves | over)

    def _report(self, m: Module) -> None:
        outside = Cat(walker.valid & ~walker.inside for walker in self.walkers)
        m.d.comb += [
            self.error.valid.eq(outside.any() & ~self.aborting),
            self.error.report.code.eq(ErrorCode.DMA_OUTSIDE),
            self.error.report.dispatch_index.eq(self.common.workgroup),
            self.error.report.wavefront.eq(self.walk.wavefront),
            self.error.report.atom.eq(
                one_hot_select(
                    one_hot_first(outside), [walker.segment.atom for walker in self.walkers]
                )
            ),
        ]

    def _load(self, m: Module, copy: Signal, of_command: Callable[[str], Value]) -> None:
        """The chosen command, and what its template says."""
        ready, common, walk = self.ready.p, self.common, self.walk
        outer_edge, inner_edge = ready.outer_edge & ~copy, ready.inner_edge & ~copy
        m.d.sync += [
            self.is_copy.eq(copy),
            self.by_wavefront.eq(~copy & (of_command("granularity") == Granularity.WAVEFRONT)),
            walk.rows.eq(
                Mux(outer_edge, of_command("outer_extent_edge"), of_command("outer_extent"))
            ),
            walk.inner_extent.eq(
                Mux(inner_edge, of_command("inner_extent_edge"), of_command("inner_extent"))
            ),
            walk.stride.eq(of_command("stride")),
            walk.minor_log2.eq(of_command("waves_inner_log2")),
            walk.wave_outer_extent.eq(of_command("wave_outer_extent")),
            walk.wavefront.eq(ready.wavefront),
            common.workgroup.eq(ready.dispatch_index),
            self.region_number.eq(of_command("region")),
            self.region.eq(self.copies.p.region),
        ]
        m.d.sync += [
            Value.cast(common[name]).eq(of_command(name))
            for name in ("wave_inner_log2", "kind", "op", "dtype", "atom_offset")
        ]
        m.d.sync += [
            common.context.eq(self.remote_space),
            common.generation.eq(self.launch_configuration.generation),
        ]

    def _scale(self, m: Module) -> None:
        """What the wavefronts before the command's have; the command's workgroup and region."""
        common, walk, regions = self.common, self.walk, self.maps.regions
        chosen = Cat(self.region_number == index for index in range(len(regions)))
        minor = walk.wavefront & ((1 << walk.minor_log2) - 1)
        m.d.sync += [
            self.outer_before.eq((walk.wavefront >> walk.minor_log2) * walk.wave_outer_extent),
            self.inner_before.eq(minor << common.wave_inner_log2),
            common.workgroup.eq(
                Mux(self.is_copy, 0, workgroup_of(common.workgroup, self.launch_configuration))
            ),
            self.state.eq(State.SHAPE),
        ]
        with m.If(~self.is_copy):
            m.d.sync += self.region.eq(one_hot_select(chosen, list(regions)))
        with m.If(~self.by_wavefront):
            m.d.sync += walk.wavefront.eq(0)

    def _shape(self, m: Module, inner_extent: Signal) -> None:
        """The part of the tile that is the command's; without one it ends here."""
        common, walk = self.common, self.walk
        outer_share, any_outer = share(walk.rows, self.outer_before, walk.wave_outer_extent)
        inner_size = (1 << common.wave_inner_log2)[:16]
        inner_share, any_inner = share(walk.inner_extent, self.inner_before, inner_size)
        m.d.comb += inner_extent.eq(Mux(self.by_wavefront, inner_share, walk.inner_extent))
        m.d.sync += [
            walk.inner_extent.eq(inner_extent),
            walk.wave_steps.eq(0),
            self.state.eq(State.IDLE),
        ]
        with m.If(self.by_wavefront):
            m.d.sync += walk.rows.eq(outer_share)
        with m.If(self.by_wavefront | self.is_copy):
            m.d.sync += [common.wave_inner_log2.eq(WHOLE_ROW), walk.wave_outer_extent.eq(0)]
        with m.Else():
            self._divide(m)
        any_of_all = walk.rows.any() & walk.inner_extent.any()
        with m.If(Mux(self.by_wavefront, any_outer & any_inner, any_of_all)):
            m.d.sync += self.state.eq(State.WALK)

    def _divide(self, m: Module) -> None:
        """How many wavefronts, and rows beyond them, a walker goes on by with a step."""
        walk, step = self.walk, self._p.dma_walkers
        rest = Signal.like(walk.wave_rest)
        m.d.comb += rest.eq(step)
        with m.Switch(walk.wave_outer_extent):
            for rows in range(1, step + 1):
                with m.Case(rows):
                    m.d.comb += rest.eq(step % rows)
                    m.d.sync += walk.wave_steps.eq(step // rows)
        m.d.sync += walk.wave_rest.eq(rest)
        with m.If(walk.wave_outer_extent.any()):
            m.d.sync += walk.wave_outer_extent.eq(walk.wave_outer_extent - rest)
