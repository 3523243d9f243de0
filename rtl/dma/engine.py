"""The DMA engine: walks the tile of a command, and hands it in segments to the channels' lanes."""

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

__all__ = ["DmaEngine"]

WHOLE_ROW = 15  # no wavefront ends within a row


class _State(enum.Enum):
    IDLE = 0
    SCALE = 1
    SHAPE = 2
    WALK = 3


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
    maps, launch : In
        Command templates and dispatch order.
    credit_limit_in : In(credit_limit_bits)
        Admission of the downstream GPU.
    issued : Out(1)
        A workgroup's last command is taken in this cycle.
    idle : Out(1)
        No command is here or at the ports.

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

    def elaborate(self, platform):
        m = Module()
        p = self._p

        state = Signal(_State)
        copy = Signal()  # chosen in IDLE
        take = Signal()
        self._choose(m, state, copy, take)
        ready = self.ready.p
        commands = self.maps.commands
        chosen = Signal(p.commands)  # the choice is late: what it selects must come by few gates
        for index in range(p.commands):
            number = Mux(copy, self.copies.p.command, ready.command)
            m.d.comb += chosen[index].eq(number == index)

        def of_command(name: str) -> Value:
            return one_hot_select(chosen, [command[name] for command in commands])

        # What all segments have in common, and where the next one begins. Before WALK the registers
        # hold what that is made of.
        members = Segment(p).members
        segment = Signal(
            data.StructLayout({name: members[name] for name in members if name != "length"})
        )
        is_copy = Signal()
        by_wavefront = Signal()  # the command moves one wavefront's tile
        outer_extent = Signal(16)
        outer_before = Signal(16 + p.wavefront_bits)  # of other wavefronts
        inner_extent = Signal(16)
        inner_before = Signal(16 + p.wavefront_bits)
        stride = Signal(min(24, p.atom_address_bits))
        minor_log2 = Signal(2)
        wave_outer_extent = Signal(16)  # in WALK 0: the wavefront stays the same
        wave_row = Signal(16)
        inner_left = Signal(16)
        next_row = Signal(Halves(p.atom_address_bits))
        next_remote_row = Signal(Halves(p.atom_address_bits))
        following_row = add(next_row, stride)
        following_remote_row = add(next_remote_row, stride)

        # The next segment ends with the channel's granule, or with the row.
        low = segment.atom[: (p.interleave_atoms - 1).bit_length()]
        granule = segment.atom[len(low) :]
        next_granule = (granule + 1)[: len(granule)]
        room = Signal(range(p.interleave_atoms + 1))
        run_ends = Signal()
        length = Signal.like(room)
        lanes = Signal(p.channels)
        advance = Signal()
        channel = channel_of(p, segment.atom)
        next_atom = Cat(Const(0, len(low)), next_granule)
        row_atom = join(next_row)
        m.d.comb += [
            room.eq(p.interleave_atoms - low),
            run_ends.eq(~inner_left[len(room) :].any() & (inner_left[: len(room)] <= room)),
            length.eq(Mux(run_ends, inner_left, room)),
            lanes.eq(Cat(channel == p.first_channel + index for index in range(p.channels))),
            # Where no lane is served, none stops the walk.
            advance.eq(~(lanes & ~Cat(lane.ready for lane in self.segments)).any()),
        ]
        for lane, here in zip(self.segments, lanes, strict=True):
            m.d.comb += [lane.p[name].eq(segment[name]) for name in segment.shape().members]
            m.d.comb += [lane.p.length.eq(length), lane.valid.eq((state == _State.WALK) & here)]

        with m.Switch(state):
            with m.Case(_State.IDLE):
                outer_edge, inner_edge = ready.outer_edge & ~copy, ready.inner_edge & ~copy
                start = Mux(copy, self.copies.p.start, ready.start)
                m.d.sync += [
                    is_copy.eq(copy),
                    by_wavefront.eq(~copy & (of_command("granularity") == Granularity.WAVEFRONT)),
                    outer_extent.eq(
                        Mux(outer_edge, of_command("outer_extent_edge"), of_command("outer_extent"))
                    ),
                    inner_extent.eq(
                        Mux(inner_edge, of_command("inner_extent_edge"), of_command("inner_extent"))
                    ),
                    stride.eq(of_command("stride")),
                    minor_log2.eq(of_command("waves_inner_log2")),
                    wave_outer_extent.eq(of_command("wave_outer_extent")),
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
                    m.d.sync += state.eq(_State.SCALE)

            with m.Case(_State.SCALE):
                minor = segment.wavefront & ((1 << minor_log2) - 1)
                remote = add(next_row, segment.remote)  # still the first one
                m.d.sync += [
                    outer_before.eq((segment.wavefront >> minor_log2) * wave_outer_extent),
                    inner_before.eq(minor << segment.wave_inner_log2),
                    next_row.as_value().eq(following_row),
                    next_remote_row.as_value().eq(remote),
                    segment.workgroup.eq(
                        Mux(is_copy, 0, workgroup_of(segment.workgroup, self.launch_configuration))
                    ),
                    state.eq(_State.SHAPE),
                ]

            with m.Case(_State.SHAPE):
                outer_share, any_outer = share(outer_extent, outer_before, wave_outer_extent)
                inner_size = (1 << segment.wave_inner_log2)[:16]
                inner_share, any_inner = share(inner_extent, inner_before, inner_size)
                m.d.sync += [
                    next_remote_row.as_value().eq(following_remote_row),
                    segment.remote.eq(join(next_remote_row)),
                    segment.offset.eq(0),
                    inner_left.eq(Mux(by_wavefront, inner_share, inner_extent)),
                    wave_row.eq(1),
                    state.eq(_State.IDLE),
                ]
                with m.If(by_wavefront):
                    m.d.sync += [outer_extent.eq(outer_share), inner_extent.eq(inner_share)]
                with m.Else():
                    m.d.sync += segment.wavefront.eq(0)
                with m.If(by_wavefront | is_copy):
                    m.d.sync += [segment.wave_inner_log2.eq(WHOLE_ROW), wave_outer_extent.eq(0)]
                with m.If(
                    Mux(
                        by_wavefront, any_outer & any_inner, outer_extent.any() & inner_extent.any()
                    )
                ):
                    m.d.sync += state.eq(_State.WALK)

            with m.Case(_State.WALK):
                with m.If(advance & ~run_ends):
                    m.d.sync += [
                        segment.atom.eq(next_atom),
                        segment.remote.eq(segment.remote + room),
                        segment.offset.eq(segment.offset + room),
                        inner_left.eq(inner_left - room),
                    ]
                with m.If(advance & run_ends):
                    m.d.sync += [
                        segment.atom.eq(row_atom),
                        segment.remote.eq(join(next_remote_row)),
                        segment.offset.eq(0),
                        inner_left.eq(inner_extent),
                        next_row.as_value().eq(following_row),
                        next_remote_row.as_value().eq(following_remote_row),
                        outer_extent.eq(outer_extent - 1),
                        wave_row.eq(wave_row + 1),
                    ]
                    with m.If(wave_row == wave_outer_extent):
                        m.d.sync += [
                            wave_row.eq(1),
                            segment.wavefront.eq(segment.wavefront + (1 << minor_log2)),
                        ]
                    with m.If(outer_extent == 1):
                        m.d.sync += state.eq(_State.IDLE)
        return m

    def _choose(self, m: Module, state: Signal, copy: Signal, take: Signal) -> None:
        """Whether a command is taken, and whether it is a copy."""
        m.submodules.choice = choice = Merge2(1)
        eligible = sum_less_than(
            self.ready.p.dispatch_index, self.launch_configuration.shift, self.credit_limit_in
        )
        m.d.comb += [
            choice.a.valid.eq(self.ready.valid & eligible),
            choice.b.valid.eq(self.copies.valid),
            choice.b.p.eq(1),
            choice.o.ready.eq(state == _State.IDLE),
            copy.eq(choice.o.p),
            take.eq(choice.o.valid & choice.o.ready),
            self.ready.ready.eq(choice.a.ready & choice.a.valid),
            self.copies.ready.eq(choice.b.ready),
            self.issued.eq(take & ~copy & self.ready.p.last),
            self.idle.eq((state == _State.IDLE) & ~self.ready.valid & ~self.copies.valid),
        ]
