"""DMA engine: walks the tile of a command, and distributes its segments to the channels' lanes."""

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import (
    WAVEFRONT_COUNT_BITS,
    LaunchConfiguration,
    MapConfiguration,
    RegionEntry,
)
from rtl.interface.encodings import ErrorCode, Granularity, PacketKind, sent_kind
from rtl.interface.layouts import Copy, ReadyCommand, Segment
from rtl.interface.signatures import ErrorSignature
from rtl.lib.compare import less_than
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
    MARK = 4


class DmaEngine(wiring.Component):
    """DMA engine: processes one command at a time. Its walkers cut rows into segments where the
    channel changes.

    The first segments of a command leave three cycles after the command is taken. Then each walker
    sends one segment per cycle, unless several walkers compete for a lane. The next command is
    taken in the cycle after the last segment. Segments of channels that are not served here cost
    their walker a cycle and are dropped. Segments with an atom outside the command's region are
    dropped and reported. A command without rows or atoms makes no segment and takes three cycles.

    Behind a command that marks tiles, a segment of kind END follows for each of its wavefronts,
    with the number of the wavefront's atoms; it takes four cycles. A tile whose start is all ones
    has no atoms.

    A ready command waits until the peers of its range have admitted its workgroup; copies do not
    wait. Ready commands and copies alternate.

    Members
    -------
    ready, copies : In(stream)
        Commands. Their ``ready`` depends on both ``valid``.
    segments : Out(stream).array(channels)
        To the lanes.
    maps, launch_configuration : In
        Ranges, command templates, regions and generation. The range and the template of a command
        are sampled when the command is taken, its region in the cycle after; a copy carries
        template, region and peers.
    limits : In(array of credit_limit_bits)
        For each range: the peers admit smaller dispatch indices.
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
    phase : Signal
        Step of MARK: 0 and 1 as SCALE and SHAPE, 2 multiplies, 3 offers the segment.
    wavefront, last_wavefront : Signal
        Wavefront whose part of the tile is computed, and the last one of the command.
    wave_rows, part_rows, part_atoms, atoms : Signal
        Rows of a wavefront; rows, atoms of a row and all atoms of the current wavefront's part.
    edges, marks : Signal
        Edges of the command's tile; the command marks tiles.
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
                "limits": In(data.ArrayLayout(p.credit_limit_bits, p.ranges)),
                "aborting": In(1),
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
        self.phase, self.marks = Signal(2), Signal()
        self.wavefront, self.last_wavefront = Signal(p.wavefront_bits), Signal(p.wavefront_bits)
        self.wave_rows, self.edges = Signal(16), Signal(2)
        self.part_rows, self.part_atoms, self.atoms = (
            Signal(p.tile_atom_bits, name=name) for name in ("part_rows", "part_atoms", "atoms")
        )
        self.waits = Signal(p.dma_walkers)
        self.choice = Merge2(1)

    def elaborate(self, platform):
        m = Module()
        # The number of the range arrives late, so it is decoded to one-hot first.
        chosen = Signal(self._p.ranges, name="chosen_range")
        m.d.comb += chosen.eq(Cat(self.ready.p.range == index for index in range(len(chosen))))
        copy, loads = self._choose(m, chosen)
        of_command = self._template(m, copy, chosen)
        outer_share, inner_share, any_of_wave = self._share(m)
        inner_extent = self._connect(m, copy, loads, inner_share)
        ended, moves, marked = self._offer(m)
        self._report(m)
        self._enable_clock(m, loads, moves, ended)
        with m.Switch(self.state):
            with m.Case(State.IDLE):
                with m.If(loads):
                    self._load(m, copy, of_command)
                    self._address(m, copy, chosen)
                with m.If(self.choice.o.valid):
                    m.d.sync += self.state.eq(State.SCALE)
            with m.Case(State.SCALE):
                self._scale(m)
            with m.Case(State.SHAPE):
                self._shape(m, inner_extent, outer_share, any_of_wave)
            with m.Case(State.WALK):
                with m.If(ended):
                    m.d.sync += self.state.eq(Mux(self.marks, State.MARK, State.IDLE))
            with m.Case(State.MARK):
                self._mark(m, marked)
        with m.If((self.state == State.SHAPE) | (self.state == State.MARK) & (self.phase == 1)):
            m.d.sync += [self.part_rows.eq(outer_share), self.part_atoms.eq(inner_share)]
        with m.If(self.aborting):
            m.d.sync += self.state.eq(State.IDLE)
        return m

    def _choose(self, m: Module, chosen: Signal) -> tuple[Signal, Signal]:
        """Select a command; return whether it is a copy, and whether registers load. Loading does
        not wait for the acceptance, which arrives too late to enable registers. ``chosen`` is the
        range of the ready command.
        """
        copy = Signal()
        loads = Signal()
        m.submodules.choice = choice = self.choice
        # All comparisons run at once, so that none waits for the range.
        dispatch_index = self.ready.p.dispatch_index
        admitted = Cat(less_than(dispatch_index, limit) for limit in self.limits)
        eligible = (chosen & admitted).any()
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
            self.tables_free.eq(idle | (self.state == State.WALK) | (self.state == State.MARK)),
        ]
        return copy, loads

    def _template(self, m: Module, copy: Signal, chosen_range: Signal) -> Callable[[str], Value]:
        """Select the template of the command, of its range or of the copy; return a function from a
        field's name to its value.
        """
        commands = [*self.maps.commands, self.copies.p.command]
        chosen = Signal(len(commands))
        for index in range(len(commands) - 1):
            uses = Cat(entry.command == index for entry in self.maps.ranges)
            m.d.comb += chosen[index].eq((chosen_range & uses).any())
        with m.If(copy):
            m.d.comb += chosen.eq(1 << len(commands) - 1)
        return lambda name: one_hot_select(chosen, [command[name] for command in commands])

    def _connect(self, m: Module, copy: Signal, loads: Signal, inner_share: Value) -> Signal:
        """Connect the walkers; return the number of atoms of a row that the command moves."""
        inner_extent = Signal(16, name="inner_extent_now")
        m.d.comb += inner_extent.eq(Mux(self.by_wavefront, inner_share, self.walk.inner_extent))
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

    def _offer(self, m: Module) -> tuple[Value, Value, Value]:
        """Offer the walkers' segments, or a marker, to the lanes, at most one per lane; return
        whether all walkers end, whether the state of a walker changes, and whether a lane takes
        the marker.
        """
        p, walkers = self._p, self.walkers
        # Markers are spread over the lanes; they may overtake the atoms that they announce.
        spread = (self.common.slot + self.wavefront)[: p.channels.bit_length() - 1]
        marks, mark_lane = Signal(), Signal(p.channels)
        m.d.comb += [
            marks.eq((self.state == State.MARK) & (self.phase == 3) & ~self.aborting),
            mark_lane.eq(Mux(marks, 1 << spread, 0)),
        ]
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
            wants.append(offers if index else offers | mark_lane)
        sources = self._sources(m)
        for index in range(p.channels):
            self._feed(m, index, Cat(lanes[index] for lanes in wants), first, *sources)
        moves = Cat(self.waits ^ waits, *(walker.advance for walker in walkers)).any()
        return ended.all(), moves, (mark_lane & ready).any()

    def _sources(self, m: Module) -> tuple[data.View, list[data.View]]:
        """Return the common fields of all segments, and the segments of the walkers; a marker takes
        the place of the first one."""
        common, first = Signal.like(self.common, name="common_now"), self.walkers[0].segment
        segment = Signal.like(first, name="segment_now")
        m.d.comb += [common.eq(self.common), segment.eq(first)]
        with m.If(self.state == State.MARK):
            m.d.comb += [
                common.kind.eq(PacketKind.END),
                common.atom_offset.eq(0),
                common.wave_inner_log2.eq(WHOLE_ROW),
                segment.atom.eq(Cat(self.atoms, self.edges, Const(1, self._p.share_bits))),
                segment.length.eq(1),
                segment.offset.eq(0),
                segment.wavefront.eq(self.wavefront),
            ]
        return common, [segment, *(walker.segment for walker in self.walkers[1:])]

    def _feed(
        self,
        m: Module,
        index: int,
        wants: Value,
        first: Value,
        common: data.View,
        segments: list[data.View],
    ) -> None:
        """Drive a lane with the segment of the walker that has priority among its requesters."""
        lane = self.segments[index]
        segment = Signal.like(self.walkers[0].segment, name=f"segment_{index}")
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
        prepares = Cat(
            self.state == state for state in (State.SCALE, State.SHAPE, State.MARK)
        ).any()
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
        waves = Value.cast(of_command("waves")).word_select(
            Cat(outer_edge, inner_edge), WAVEFRONT_COUNT_BITS
        )
        m.d.sync += [
            self.is_copy.eq(copy),
            self.by_wavefront.eq(~copy & (of_command("granularity") == Granularity.WAVEFRONT)),
            walk.rows.eq(
                Mux(
                    ready.start.all() & ~copy,
                    0,
                    Mux(outer_edge, of_command("outer_extent_edge"), of_command("outer_extent")),
                )
            ),
            walk.inner_extent.eq(
                Mux(inner_edge, of_command("inner_extent_edge"), of_command("inner_extent"))
            ),
            walk.stride.eq(of_command("stride")),
            walk.minor_log2.eq(of_command("waves_inner_log2")),
            walk.wave_outer_extent.eq(of_command("wave_outer_extent")),
            walk.wavefront.eq(ready.wavefront),
            self.dispatch_index.eq(Mux(copy, 0, ready.dispatch_index)),
            self.wave_rows.eq(of_command("wave_outer_extent")),
            self.wavefront.eq(ready.wavefront),
            self.edges.eq(Cat(outer_edge, inner_edge)),
            self.marks.eq(of_command("marks") & ~copy),
            self.last_wavefront.eq(waves - 1),
            self.region_number.eq(of_command("region")),
            self.region.eq(self.copies.p.region),
        ]
        m.d.sync += [
            Value.cast(common[name]).eq(of_command(name))
            for name in ("wave_inner_log2", "op", "dtype", "atom_offset")
        ]
        marks = of_command("marks") & ~copy
        m.d.sync += Value.cast(common.kind).eq(sent_kind(of_command("kind"), marks))
        m.d.sync += common.generation.eq(self.launch_configuration.generation)

    def _address(self, m: Module, copy: Signal, chosen: Signal) -> None:
        """Load the receivers of the command, and the part of the slot that its range adds."""
        ranges, common = self.maps.ranges, self.common
        offset = one_hot_select(chosen, [entry.slot_offset for entry in ranges])
        peers = one_hot_select(chosen, [entry.peers for entry in ranges])
        m.d.sync += [
            common.slot.eq(Mux(copy, 0, offset)),
            common.peers.eq(Mux(copy, self.copies.p.peers, peers)),
        ]

    def _scale(self, m: Module) -> None:
        """Scale the wavefronts before the command's, compute the slot and look up the region."""
        common, walk, regions = self.common, self.walk, self.maps.regions
        chosen = Cat(self.region_number == index for index in range(len(regions)))
        self._look_before(m)
        m.d.sync += [
            common.slot.eq(common.slot + self.dispatch_index),  # both are 0 for a copy
            self.state.eq(State.SHAPE),
        ]
        with m.If(~self.is_copy):
            m.d.sync += self.region.eq(one_hot_select(chosen, list(regions)))
        with m.If(~self.by_wavefront):
            m.d.sync += [walk.wavefront.eq(0), self.wavefront.eq(0)]
        with m.Else():
            m.d.sync += self.last_wavefront.eq(self.wavefront)

    def _look_before(self, m: Module) -> None:
        """Compute the rows, and the atoms of a row, of the wavefronts before the current one."""
        minor_log2 = self.walk.minor_log2
        minor = self.wavefront & ((1 << minor_log2) - 1)
        m.d.sync += [
            self.outer_before.eq((self.wavefront >> minor_log2) * self.wave_rows),
            self.inner_before.eq(minor << self.common.wave_inner_log2),
        ]

    def _share(self, m: Module) -> tuple[Value, Value, Value]:
        """Compute the rows and the atoms of a row of the current wavefront, and whether there are
        any."""
        walk, rows, atoms = (
            self.walk,
            Signal(16, name="outer_share"),
            Signal(16, name="inner_share"),
        )
        outer_share, any_outer = share(walk.rows, self.outer_before, self.wave_rows)
        inner_size = (1 << self.common.wave_inner_log2)[:16]
        inner_share, any_inner = share(walk.inner_extent, self.inner_before, inner_size)
        # Without a number of rows, a wavefront of a workgroup's command has all of them.
        whole = ~self.by_wavefront & ~self.wave_rows.any()
        m.d.comb += [rows.eq(Mux(whole, walk.rows, outer_share)), atoms.eq(inner_share)]
        return rows, atoms, any_outer & any_inner

    def _mark(self, m: Module, marked: Value) -> None:
        """Count the atoms of the current wavefront's part, and go to the next wavefront once a lane
        takes the marker."""
        m.d.sync += self.phase.eq(self.phase + 1)
        with m.Switch(self.phase):
            with m.Case(0):
                self._look_before(m)
            with m.Case(2):
                m.d.sync += self.atoms.eq(self.part_rows * self.part_atoms)
            with m.Case(3):
                m.d.sync += self.phase.eq(Mux(marked, 0, 3))
                with m.If(marked & (self.wavefront == self.last_wavefront)):
                    m.d.sync += self.state.eq(State.IDLE)
                with m.Elif(marked):
                    m.d.sync += self.wavefront.eq(self.wavefront + 1)

    def _shape(
        self, m: Module, inner_extent: Signal, outer_share: Value, any_of_wave: Value
    ) -> None:
        """Compute the command's part of the tile; a command with an empty part has no walk."""
        common, walk = self.common, self.walk
        m.d.sync += [
            walk.inner_extent.eq(inner_extent),
            walk.wave_steps.eq(0),
            self.phase.eq(Mux(self.by_wavefront, 2, 0)),
            self.state.eq(Mux(self.marks, State.MARK, State.IDLE)),
        ]
        with m.If(self.by_wavefront):
            m.d.sync += walk.rows.eq(outer_share)
        with m.If(self.by_wavefront | self.is_copy):
            m.d.sync += [common.wave_inner_log2.eq(WHOLE_ROW), walk.wave_outer_extent.eq(0)]
        with m.Else():
            self._divide(m)
        any_of_all = walk.rows.any() & walk.inner_extent.any()
        with m.If(Mux(self.by_wavefront, any_of_wave, any_of_all)):
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
