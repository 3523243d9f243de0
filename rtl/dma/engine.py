"""DMA engine: walks the tile of a command, and distributes its segments to the channels' lanes."""

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

from .geometry import share
from .walker import RowWalker, Walk

__all__ = ["WHOLE_ROW", "DmaEngine", "State"]

WHOLE_ROW = 15  # no wavefront ends within a row


class State(enum.Enum):
    """State of the DMA engine."""

    IDLE = 0
    SCALE = 1
    SHAPE = 2
    WALK = 3


class DmaEngine(wiring.Component):
    """DMA engine: processes one command at a time. Its walkers cut rows into segments where the
    channel changes.

    The first segments of a command leave three cycles after the command is taken. Then each walker
    sends one segment per cycle, unless several walkers compete for a lane. The next command is
    taken in the cycle after the last segment. Segments of channels that are not served here cost
    their walker a cycle and are dropped. Segments with an atom outside the command's region are
    dropped and reported. A command without rows or atoms makes no segment and takes three cycles.

    A ready command waits until the downstream GPU has admitted its workgroup; copies do not wait.
    Ready commands and copies alternate.

    Members
    -------
    ready, copies : In(stream)
        Commands. Their ``ready`` depends on both ``valid``.
    segments : Out(stream).array(channels)
        To the lanes.
    maps, launch_configuration : In
        Command templates, regions and dispatch order. The template of a command is sampled when the
        command is taken, its region in the cycle after; a copy carries both.
    remote_space : In(context_bits)
        Address space at the receiver.
    credit_limit_in : In(credit_limit_bits)
        Credit limit of the downstream GPU.
    aborting : In(1)
        Drop the current command, and all commands at the ports.
    issued : Out(1)
        A workgroup's last command is taken in this cycle.
    idle : Out(1)
        No command is in the engine or at its ports.
    tables_free : Out(1)
        The current command no longer needs the tables and the launch configuration.
    error : Out(:class:`ErrorSignature`)
        Segments outside the region are dropped in this cycle. Reports the command's dispatch index,
        0 for a copy, and its wavefront if the command moves the tile of one wavefront.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them. Before WALK some
              registers hold intermediate values.

    state : Signal
    common : Signal
        Fields common to all segments of the command.
    walk : Signal
        Values common to all walkers.
    region_number, region : Signal
        Region of the command; in SCALE only the number is valid.
    dispatch_index : Signal
        Dispatch index of the command.
    is_copy, by_wavefront : Signal
        The command is a copy; the command moves the tile of one wavefront.
    outer_before, inner_before : Signal
        Rows, and atoms of a row, of the wavefronts before the command's wavefront.
    walkers : list of RowWalker
    waits : Signal
        Per walker: its segment was not taken, so it has priority.
    choice : Merge2
        Merge of ready commands and copies.

    Raises
    ------
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
                "tables_free": Out(1),
                "clock_enable": Out(1),
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
        self.dispatch_index = Signal(p.dispatch_index_bits)
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
        self._enable_clock(m, loads, moves, ended)
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
        """Select a command; return whether it is a copy, and whether registers load. Loading does
        not wait for the acceptance, which arrives too late to enable registers.
        """
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
            self.tables_free.eq(idle | (self.state == State.WALK)),
        ]
        return copy, loads

    def _template(self, m: Module, copy: Signal) -> Callable[[str], Value]:
        """Select the template of the command, from the table or from the copy; return a function
        from a field's name to its value.
        """
        commands = [*self.maps.commands, self.copies.p.command]
        # The selection arrives late, so it is decoded to one-hot first.
        chosen = Signal(len(commands))
        m.d.comb += [
            chosen.eq(Cat(self.ready.p.command == index for index in range(len(commands) - 1)))
        ]
        with m.If(copy):
            m.d.comb += chosen.eq(1 << len(commands) - 1)
        return lambda name: one_hot_select(chosen, [command[name] for command in commands])

    def _connect(self, m: Module, copy: Signal, loads: Signal) -> Signal:
        """Connect the walkers; return the number of atoms of a row that the command moves."""
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
        """Offer the walkers' segments to the lanes, at most one per lane; return whether all
        walkers end, and whether the state of a walker changes.
        """
        p, walkers = self._p, self.walkers
        first, ended = Signal(len(walkers)), Signal(len(walkers))
        ready = Cat(lane.ready for lane in self.segments)
        waits = Signal.like(self.waits, name="waits_then")
        wants = []
        for index, walker in enumerate(walkers):
            here = Signal(p.channels, name=f"here_{index}")
            # A signal keeps the expression from being duplicated for each lane.
            offers = Signal(p.channels, name=f"offers_{index}")
            stops = Signal(name=f"stops_{index}")
            lanes = (walker.channel == number for number in p.channel_numbers)
            m.d.comb += [
                here.eq(Cat(lanes) & walker.inside.replicate(p.channels)),
                # A segment for no lane cannot be stopped.
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
        """Drive a lane with the segment of the walker that has priority among its requesters."""
        lane, common = self.segments[index], self.common
        segment = Signal.like(self.walkers[0].segment, name=f"segment_{index}")
        segments = [walker.segment for walker in self.walkers]
        chosen = one_hot_select(wants & first, segments) if len(segments) > 1 else segments[0]
        m.d.comb += [lane.valid.eq(wants.any()), segment.as_value().eq(chosen)]
        m.d.comb += [lane.p[name].eq(segment[name]) for name in segment.shape().members]
        m.d.comb += [lane.p[name].eq(common[name]) for name in common.shape().members]

    def _is_behind(self, index: int) -> Value:
        """Test whether another walker has priority in the lane of a walker."""
        walker, behind = self.walkers[index], Const(0, 1)
        for other, before in enumerate(self.walkers):
            same = (before.channel == walker.channel) & before.inside
            if other < index:
                behind |= same & before.valid & ~self.waits[index]
            if other > index:
                behind |= same & self.waits[other]
        return behind

    def _enable_clock(self, m: Module, loads: Signal, moves: Value, ended: Value) -> None:
        """Enable the clock to load or prepare a command, to move a walker and to end a walk."""
        prepares = (self.state == State.SCALE) | (self.state == State.SHAPE)
        ends = (self.state == State.WALK) & (ended | self.aborting)
        m.d.comb += self.clock_enable.eq(loads | prepares | moves | ends)

    def _report(self, m: Module) -> None:
        outside = Cat(walker.valid & ~walker.inside for walker in self.walkers)
        m.d.comb += [
            self.error.valid.eq(outside.any() & ~self.aborting),
            self.error.report.code.eq(ErrorCode.DMA_OUT_OF_REGION),
            self.error.report.dispatch_index.eq(self.dispatch_index),
            self.error.report.wavefront.eq(self.walk.wavefront),
            self.error.report.atom.eq(
                one_hot_select(
                    one_hot_first(outside), [walker.segment.atom for walker in self.walkers]
                )
            ),
        ]

    def _load(self, m: Module, copy: Signal, of_command: Callable[[str], Value]) -> None:
        """Load the selected command and its template."""
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
            self.dispatch_index.eq(Mux(copy, 0, ready.dispatch_index)),
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
        """Scale the wavefronts before the command's, and look up the slot and the region."""
        common, walk, regions = self.common, self.walk, self.maps.regions
        chosen = Cat(self.region_number == index for index in range(len(regions)))
        minor = walk.wavefront & ((1 << walk.minor_log2) - 1)
        m.d.sync += [
            self.outer_before.eq((walk.wavefront >> walk.minor_log2) * walk.wave_outer_extent),
            self.inner_before.eq(minor << common.wave_inner_log2),
            common.slot.eq(
                Mux(self.is_copy, 0, self.dispatch_index + self.launch_configuration.shift)
            ),
            self.state.eq(State.SHAPE),
        ]
        with m.If(~self.is_copy):
            m.d.sync += self.region.eq(one_hot_select(chosen, list(regions)))
        with m.If(~self.by_wavefront):
            m.d.sync += walk.wavefront.eq(0)

    def _shape(self, m: Module, inner_extent: Signal) -> None:
        """Compute the command's part of the tile; a command with an empty part ends here."""
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
        """Compute the whole wavefronts, and the rows beyond them, of a walker's step."""
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
