"""The DMA engine: walks the tile of a command, and hands it in pieces to the channels' lanes."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import MapConfiguration, ProductionConfiguration
from rtl.interface.encodings import Granularity
from rtl.interface.layouts import Copy, Piece, ReadyCommand
from rtl.lib.compare import sum_less_than
from rtl.lib.interleave import channel_of
from rtl.lib.pending_carry import Halves, add, join
from rtl.lib.round_robin import Merge2
from rtl.lib.select import one_hot_select
from rtl.parameters import T3Parameters

from .geometry import share, workgroup_of

__all__ = ["DmaEngine"]

WHOLE_RUN = 15  # no wavefront ends within a run


class _State(enum.Enum):
    IDLE = 0
    SCALE = 1
    SHAPE = 2
    WALK = 3


class DmaEngine(wiring.Component):
    """Takes one command at a time and cuts its walk where the channel changes and where a run ends.

    A command is taken in one cycle, its first piece leaves in the third after that, then one piece
    per cycle; in the cycle after the last piece the next command is taken. Pieces of channels that
    are not served here cost a cycle and are dropped. A command without rows or atoms gives no piece
    and takes three cycles.

    A ready command waits until the downstream GPU has admitted its workgroup; copies do not wait.
    Between the two the choice alternates.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    ready, copies : In(stream)
        Commands. Their ``ready`` depends on both ``valid``.
    pieces : Out(stream).array(channels)
        To the lanes.
    maps, production : In
        Command templates and production order.
    limit_in : In(limit_bits)
        Admission of the downstream GPU.
    picked : Out(1)
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
                "pieces": Out(stream.Signature(Piece(p))).array(p.channels),
                "maps": In(MapConfiguration(p)),
                "production": In(ProductionConfiguration(p)),
                "limit_in": In(p.limit_bits),
                "picked": Out(1),
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

        # What all pieces have in common, and where the next one begins. Before WALK the registers
        # hold what that is made of.
        members = Piece(p).members
        piece = Signal(
            data.StructLayout({name: members[name] for name in members if name != "length"})
        )
        is_copy = Signal()
        by_wavefront = Signal()  # the command moves one wavefront's tile
        rows = Signal(16)
        rows_before = Signal(16 + p.wavefront_bits)  # of other wavefronts
        run = Signal(16)
        run_before = Signal(16 + p.wavefront_bits)
        pitch = Signal(min(24, p.atom_address_bits))
        minor_log2 = Signal(2)
        wave_rows = Signal(16)  # in WALK 0: the wavefront stays the same
        wave_row = Signal(16)
        run_left = Signal(16)
        next_row = Signal(Halves(p.atom_address_bits))
        next_remote_row = Signal(Halves(p.atom_address_bits))
        following_row = add(next_row, pitch)
        following_remote_row = add(next_remote_row, pitch)

        # The next piece ends with the channel's granule, or with the run.
        low = piece.atom[: (p.interleave_atoms - 1).bit_length()]
        granule = piece.atom[len(low) :]
        next_granule = (granule + 1)[: len(granule)]
        room = Signal(range(p.interleave_atoms + 1))
        run_ends = Signal()
        length = Signal.like(room)
        lanes = Signal(p.channels)
        advance = Signal()
        channel = channel_of(p, piece.atom)
        next_atom = Cat(Const(0, len(low)), next_granule)
        row_atom = join(next_row)
        m.d.comb += [
            room.eq(p.interleave_atoms - low),
            run_ends.eq(~run_left[len(room) :].any() & (run_left[: len(room)] <= room)),
            length.eq(Mux(run_ends, run_left, room)),
            lanes.eq(Cat(channel == p.first_channel + index for index in range(p.channels))),
            # Where no lane is served, none stops the walk.
            advance.eq(~(lanes & ~Cat(lane.ready for lane in self.pieces)).any()),
        ]
        for lane, here in zip(self.pieces, lanes, strict=True):
            m.d.comb += [lane.p[name].eq(piece[name]) for name in piece.shape().members]
            m.d.comb += [lane.p.length.eq(length), lane.valid.eq((state == _State.WALK) & here)]

        with m.Switch(state):
            with m.Case(_State.IDLE):
                row_edge, run_edge = ready.row_edge & ~copy, ready.run_edge & ~copy
                start = Mux(copy, self.copies.p.start, ready.start)
                m.d.sync += [
                    is_copy.eq(copy),
                    by_wavefront.eq(~copy & (of_command("granularity") == Granularity.WAVEFRONT)),
                    rows.eq(Mux(row_edge, of_command("rows_edge"), of_command("rows"))),
                    run.eq(Mux(run_edge, of_command("run_edge"), of_command("run"))),
                    pitch.eq(of_command("pitch")),
                    minor_log2.eq(of_command("waves_minor_log2")),
                    wave_rows.eq(of_command("wave_rows")),
                    next_row.low.eq(start[: len(next_row.low)]),
                    next_row.carry.eq(0),
                    next_row.high.eq(start[len(next_row.low) :]),
                    piece.atom.eq(start),
                    piece.remote.eq(of_command("atom_offset")),
                    piece.wavefront.eq(ready.wavefront),
                    piece.workgroup.eq(ready.place),
                ]
                m.d.sync += [
                    Value.cast(piece[name]).eq(of_command(name))
                    for name in ("wave_run_log2", "context", "kind", "op", "dtype")
                ]
                with m.If(take):
                    m.d.sync += state.eq(_State.SCALE)

            with m.Case(_State.SCALE):
                minor = piece.wavefront & ((1 << minor_log2) - 1)
                remote = add(next_row, piece.remote)  # still the first one
                m.d.sync += [
                    rows_before.eq((piece.wavefront >> minor_log2) * wave_rows),
                    run_before.eq(minor << piece.wave_run_log2),
                    next_row.as_value().eq(following_row),
                    next_remote_row.as_value().eq(remote),
                    piece.workgroup.eq(
                        Mux(is_copy, 0, workgroup_of(piece.workgroup, self.production))
                    ),
                    state.eq(_State.SHAPE),
                ]

            with m.Case(_State.SHAPE):
                share_rows, any_rows = share(rows, rows_before, wave_rows)
                run_size = (1 << piece.wave_run_log2)[:16]
                share_run, any_run = share(run, run_before, run_size)
                m.d.sync += [
                    next_remote_row.as_value().eq(following_remote_row),
                    piece.remote.eq(join(next_remote_row)),
                    piece.offset.eq(0),
                    run_left.eq(Mux(by_wavefront, share_run, run)),
                    wave_row.eq(1),
                    state.eq(_State.IDLE),
                ]
                with m.If(by_wavefront):
                    m.d.sync += [rows.eq(share_rows), run.eq(share_run)]
                with m.Else():
                    m.d.sync += piece.wavefront.eq(0)
                with m.If(by_wavefront | is_copy):
                    m.d.sync += [piece.wave_run_log2.eq(WHOLE_RUN), wave_rows.eq(0)]
                with m.If(Mux(by_wavefront, any_rows & any_run, rows.any() & run.any())):
                    m.d.sync += state.eq(_State.WALK)

            with m.Case(_State.WALK):
                with m.If(advance & ~run_ends):
                    m.d.sync += [
                        piece.atom.eq(next_atom),
                        piece.remote.eq(piece.remote + room),
                        piece.offset.eq(piece.offset + room),
                        run_left.eq(run_left - room),
                    ]
                with m.If(advance & run_ends):
                    m.d.sync += [
                        piece.atom.eq(row_atom),
                        piece.remote.eq(join(next_remote_row)),
                        piece.offset.eq(0),
                        run_left.eq(run),
                        next_row.as_value().eq(following_row),
                        next_remote_row.as_value().eq(following_remote_row),
                        rows.eq(rows - 1),
                        wave_row.eq(wave_row + 1),
                    ]
                    with m.If(wave_row == wave_rows):
                        m.d.sync += [
                            wave_row.eq(1),
                            piece.wavefront.eq(piece.wavefront + (1 << minor_log2)),
                        ]
                    with m.If(rows == 1):
                        m.d.sync += state.eq(_State.IDLE)
        return m

    def _choose(self, m: Module, state: Signal, copy: Signal, take: Signal) -> None:
        """Whether a command is taken, and whether it is a copy."""
        m.submodules.choice = choice = Merge2(1)
        eligible = sum_less_than(self.ready.p.place, self.production.shift, self.limit_in)
        m.d.comb += [
            choice.a.valid.eq(self.ready.valid & eligible),
            choice.b.valid.eq(self.copies.valid),
            choice.b.p.eq(1),
            choice.o.ready.eq(state == _State.IDLE),
            copy.eq(choice.o.p),
            take.eq(choice.o.valid & choice.o.ready),
            self.ready.ready.eq(choice.a.ready & choice.a.valid),
            self.copies.ready.eq(choice.b.ready),
            self.picked.eq(take & ~copy & self.ready.p.last),
            self.idle.eq((state == _State.IDLE) & ~self.ready.valid & ~self.copies.valid),
        ]
