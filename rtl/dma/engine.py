"""The DMA engine: walks the tile of a command, and hands it in segments to the channels' lanes."""

from collections.abc import Callable
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import LaunchConfiguration, MapConfiguration
from rtl.interface.encodings import Granularity
from rtl.interface.layouts import Copy, ReadyCommand, Segment
from rtl.lib.compare import sum_less_than
from rtl.lib.interleave import channel_of
from rtl.lib.pending_carry import Halves, add, join
from rtl.lib.round_robin import Merge2
from rtl.lib.select import one_hot_select
from rtl.parameters import T3Parameters

from .geometry import share, workgroup_of

__all__ = ["DmaEngine", "State"]

WHOLE_ROW = 15  # no wavefront ends within a row


class State(enum.Enum):
    """What the engine does with the command in hand."""

    IDLE = 0
    SCALE = 1
    SHAPE = 2
    WALK = 3


@dataclass(frozen=True)
class _Cut:
    """Where the next segment ends.

    Attributes
    ----------
    room : Signal
        Atoms to the end of the granule.
    row_ends : Signal
        The segment ends with its row.
    length : Signal
        Of the segment.
    advance : Signal
        The segment leaves, or is of no channel that is served.
    """

    room: Signal
    row_ends: Signal
    length: Signal
    advance: Signal


class DmaEngine(wiring.Component):
    """Takes one command at a time and cuts its walk where the channel changes and where a row ends.

    A command is taken in one cycle, its first segment leaves in the third after that, then one
    segment per cycle; in the cycle after the last segment the next command is taken. Segments of
    channels that are not served here cost a cycle and are dropped. A command without rows or atoms
    gives no segment and takes three cycles.

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
        Command templates and dispatch order.
    credit_limit_in : In(credit_limit_bits)
        Admission of the downstream GPU.
    issued : Out(1)
        A workgroup's last command is taken in this cycle.
    idle : Out(1)
        No command is here or at the ports.

    Attributes
    ----------
    For proofs and benches to read, never to drive. Before WALK the registers hold what their
    value is made of.

    state : Signal
    segment : Signal
        What all segments have in common, and where the next one begins.
    is_copy, by_wavefront : Signal
        The command is a copy, or moves one wavefront's tile.
    outer_extent, inner_extent : Signal
        Rows that are left, and atoms of a row.
    outer_before, inner_before : Signal
        Rows, and atoms of a row, of the wavefronts before the command's.
    stride, minor_log2 : Signal
        The command's ``stride`` and ``waves_inner_log2``.
    wave_outer_extent, wave_row : Signal
        Rows of a wavefront, 0 if it stays the same, and which of them this is, from 1 on.
    inner_left : Signal
        Atoms of the row that are left.
    next_row, next_remote_row : Signal
        Where the next row begins, here and at the receiver.
    choice : Merge2
        Between ready commands and copies.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._p = p
        super().__init__(
            {
                "ready": In(stream.Signature(ReadyCommand(p))),
                "copies": In(stream.Signature(Copy(p))),
                "segments": Out(stream.Signature(Segment(p))).array(p.channels),
                "maps": In(MapConfiguration(p)),
                "launch_configuration": In(LaunchConfiguration(p)),
                "credit_limit_in": In(p.credit_limit_bits),
                "issued": Out(1),
                "idle": Out(1),
            }
        )
        members = Segment(p).members
        self.state = Signal(State)
        self.segment = Signal(
            data.StructLayout({name: members[name] for name in members if name != "length"})
        )
        self.is_copy = Signal()
        self.by_wavefront = Signal()
        self.outer_extent = Signal(16)
        self.outer_before = Signal(16 + p.wavefront_bits)
        self.inner_extent = Signal(16)
        self.inner_before = Signal(16 + p.wavefront_bits)
        self.stride = Signal(min(24, p.atom_address_bits))
        self.minor_log2 = Signal(2)
        self.wave_outer_extent = Signal(16)
        self.wave_row = Signal(16)
        self.inner_left = Signal(16)
        self.next_row = Signal(Halves(p.atom_address_bits))
        self.next_remote_row = Signal(Halves(p.atom_address_bits))
        self.choice = Merge2(1)

    def elaborate(self, platform):
        m = Module()
        copy, take = self._choose(m)
        of_command = self._template(m, copy)
        cut = self._cut(m)
        self._offer(m, cut)
        with m.Switch(self.state):
            with m.Case(State.IDLE):
                self._take(m, copy, take, of_command)
            with m.Case(State.SCALE):
                self._scale(m)
            with m.Case(State.SHAPE):
                self._shape(m)
            with m.Case(State.WALK):
                self._walk(m, cut)
        return m

    def _choose(self, m: Module) -> tuple[Signal, Signal]:
        """Whether the command that is chosen is a copy, and whether it is taken."""
        copy = Signal()
        take = Signal()
        m.submodules.choice = choice = self.choice
        eligible = sum_less_than(
            self.ready.p.dispatch_index, self.launch_configuration.shift, self.credit_limit_in
        )
        idle = self.state == State.IDLE
        m.d.comb += [
            choice.a.valid.eq(self.ready.valid & eligible),
            choice.b.valid.eq(self.copies.valid),
            choice.b.p.eq(1),
            choice.o.ready.eq(idle),
            copy.eq(choice.o.p),
            take.eq(choice.o.valid & choice.o.ready),
            self.ready.ready.eq(choice.a.ready & choice.a.valid),
            self.copies.ready.eq(choice.b.ready),
            self.issued.eq(take & ~copy & self.ready.p.last),
            self.idle.eq(idle & ~self.ready.valid & ~self.copies.valid),
        ]
        return copy, take

    def _template(self, m: Module, copy: Signal) -> Callable[[str], Value]:
        """The fields of the chosen command's template, by name."""
        commands = self.maps.commands
        # The choice is late: what it selects must come by few gates.
        chosen = Signal(len(commands))
        for index in range(len(commands)):
            number = Mux(copy, self.copies.p.command, self.ready.p.command)
            m.d.comb += chosen[index].eq(number == index)
        return lambda name: one_hot_select(chosen, [command[name] for command in commands])

    def _cut(self, m: Module) -> _Cut:
        """The next segment ends with the channel's granule, or with the row."""
        granule_atoms = self._p.interleave_atoms
        low = self.segment.atom[: (granule_atoms - 1).bit_length()]
        room = Signal(range(granule_atoms + 1))
        cut = _Cut(
            room=room,
            row_ends=Signal(name="row_ends"),
            length=Signal.like(room, name="length"),
            advance=Signal(name="advance"),
        )
        left = self.inner_left
        m.d.comb += [
            room.eq(granule_atoms - low),
            cut.row_ends.eq(~left[len(room) :].any() & (left[: len(room)] <= room)),
            cut.length.eq(Mux(cut.row_ends, left, room)),
        ]
        return cut

    def _offer(self, m: Module, cut: _Cut) -> None:
        """The next segment to its channel's lane."""
        p, segment = self._p, self.segment
        channel = channel_of(p, segment.atom)
        lanes = Signal(p.channels)
        m.d.comb += [
            lanes.eq(Cat(channel == p.first_channel + index for index in range(p.channels))),
            # Where no lane is served, none stops the walk.
            cut.advance.eq(~(lanes & ~Cat(lane.ready for lane in self.segments)).any()),
        ]
        walks = self.state == State.WALK
        for lane, here in zip(self.segments, lanes, strict=True):
            m.d.comb += [lane.p[name].eq(segment[name]) for name in segment.shape().members]
            m.d.comb += [lane.p.length.eq(cut.length), lane.valid.eq(walks & here)]

    def _take(
        self, m: Module, copy: Signal, take: Signal, of_command: Callable[[str], Value]
    ) -> None:
        """Load the chosen command, and what its template says."""
        ready, segment, next_row = self.ready.p, self.segment, self.next_row
        outer_edge, inner_edge = ready.outer_edge & ~copy, ready.inner_edge & ~copy
        start = Mux(copy, self.copies.p.start, ready.start)
        m.d.sync += [
            self.is_copy.eq(copy),
            self.by_wavefront.eq(~copy & (of_command("granularity") == Granularity.WAVEFRONT)),
            self.outer_extent.eq(
                Mux(outer_edge, of_command("outer_extent_edge"), of_command("outer_extent"))
            ),
            self.inner_extent.eq(
                Mux(inner_edge, of_command("inner_extent_edge"), of_command("inner_extent"))
            ),
            self.stride.eq(of_command("stride")),
            self.minor_log2.eq(of_command("waves_inner_log2")),
            self.wave_outer_extent.eq(of_command("wave_outer_extent")),
            next_row.low.eq(start[: len(next_row.low)]),
            next_row.carry.eq(0),
            next_row.high.eq(start[len(next_row.low) :]),
            segment.atom.eq(start),
            segment.remote.eq(of_command("atom_offset")),
            segment.wavefront.eq(ready.wavefront),
            segment.workgroup.eq(ready.dispatch_index),
        ]
        m.d.sync += [
            Value.cast(segment[name]).eq(of_command(name))
            for name in ("wave_inner_log2", "context", "kind", "op", "dtype")
        ]
        with m.If(take):
            m.d.sync += self.state.eq(State.SCALE)

    def _scale(self, m: Module) -> None:
        """What the wavefronts before the command's have, and the command's workgroup."""
        segment, minor_log2 = self.segment, self.minor_log2
        minor = segment.wavefront & ((1 << minor_log2) - 1)
        remote = add(self.next_row, segment.remote)  # still the first one
        m.d.sync += [
            self.outer_before.eq((segment.wavefront >> minor_log2) * self.wave_outer_extent),
            self.inner_before.eq(minor << segment.wave_inner_log2),
            self.next_row.as_value().eq(add(self.next_row, self.stride)),
            self.next_remote_row.as_value().eq(remote),
            segment.workgroup.eq(
                Mux(self.is_copy, 0, workgroup_of(segment.workgroup, self.launch_configuration))
            ),
            self.state.eq(State.SHAPE),
        ]

    def _shape(self, m: Module) -> None:
        """The part of the tile that is the command's; without one it ends here."""
        segment = self.segment
        outer_share, any_outer = share(self.outer_extent, self.outer_before, self.wave_outer_extent)
        inner_size = (1 << segment.wave_inner_log2)[:16]
        inner_share, any_inner = share(self.inner_extent, self.inner_before, inner_size)
        m.d.sync += [
            self.next_remote_row.as_value().eq(add(self.next_remote_row, self.stride)),
            segment.remote.eq(join(self.next_remote_row)),
            segment.offset.eq(0),
            self.inner_left.eq(Mux(self.by_wavefront, inner_share, self.inner_extent)),
            self.wave_row.eq(1),
            self.state.eq(State.IDLE),
        ]
        with m.If(self.by_wavefront):
            m.d.sync += [self.outer_extent.eq(outer_share), self.inner_extent.eq(inner_share)]
        with m.Else():
            m.d.sync += segment.wavefront.eq(0)
        with m.If(self.by_wavefront | self.is_copy):
            m.d.sync += [segment.wave_inner_log2.eq(WHOLE_ROW), self.wave_outer_extent.eq(0)]
        any_of_all = self.outer_extent.any() & self.inner_extent.any()
        with m.If(Mux(self.by_wavefront, any_outer & any_inner, any_of_all)):
            m.d.sync += self.state.eq(State.WALK)

    def _walk(self, m: Module, cut: _Cut) -> None:
        """One segment on: in the row, or to the next row."""
        segment, room = self.segment, cut.room
        low_bits = (self._p.interleave_atoms - 1).bit_length()
        granule = segment.atom[low_bits:]
        next_granule = (granule + 1)[: len(granule)]
        with m.If(cut.advance & ~cut.row_ends):
            m.d.sync += [
                segment.atom.eq(Cat(Const(0, low_bits), next_granule)),
                segment.remote.eq(segment.remote + room),
                segment.offset.eq(segment.offset + room),
                self.inner_left.eq(self.inner_left - room),
            ]
        with m.If(cut.advance & cut.row_ends):
            m.d.sync += [
                segment.atom.eq(join(self.next_row)),
                segment.remote.eq(join(self.next_remote_row)),
                segment.offset.eq(0),
                self.inner_left.eq(self.inner_extent),
                self.next_row.as_value().eq(add(self.next_row, self.stride)),
                self.next_remote_row.as_value().eq(add(self.next_remote_row, self.stride)),
                self.outer_extent.eq(self.outer_extent - 1),
                self.wave_row.eq(self.wave_row + 1),
            ]
            with m.If(self.wave_row == self.wave_outer_extent):
                m.d.sync += [
                    self.wave_row.eq(1),
                    segment.wavefront.eq(segment.wavefront + (1 << self.minor_log2)),
                ]
            with m.If(self.outer_extent == 1):
                m.d.sync += self.state.eq(State.IDLE)
