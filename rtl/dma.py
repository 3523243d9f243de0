"""The DMA engine: walks the tile of a command, and hands it in pieces to the channels' lanes."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from .interleave import channel_of
from .layouts import (
    CommandEntry,
    Copy,
    Granularity,
    MapConfiguration,
    Piece,
    ProductionConfiguration,
    ReadyCommand,
)
from .parameters import T3Parameters
from .round_robin import Merge2

__all__ = ["DmaEngine"]

WHOLE_RUN = 15  # no wavefront ends within a run


class _State(enum.Enum):
    IDLE = 0
    SCALE = 1  # products and shifts
    SHAPE = 2  # differences and minima
    WALK = 3


def _share(total: Value, begin: Value, size: Value) -> Value:
    """Length of the part of ``total`` that begins at ``begin`` and is at most ``size`` long."""
    rest = (total - begin)[: len(total)]
    # Whether the part is whole, without waiting for the rest.
    return Mux(begin + size <= total, size, Mux(begin < total, rest, 0))


class DmaEngine(wiring.Component):
    """Takes one command at a time and cuts its walk where the channel changes and where a run ends.

    A command is taken in one cycle, two more work out its geometry, its first piece leaves in the
    one after them, then one piece per cycle; in the cycle after the last piece the next command is
    taken. Pieces of channels that are not served here cost a cycle and are dropped. A command
    without rows or atoms gives no piece.

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

        # Choice: the two kinds of command, as one.
        state = Signal(_State)
        offer = data.StructLayout({"copy": 1, "ready": ReadyCommand(p)})
        m.submodules.choice = choice = Merge2(offer)
        eligible = Signal()
        take = Signal()
        taken = Signal(offer, reset_less=True)
        command = Signal(CommandEntry(p), reset_less=True)
        m.d.comb += [
            eligible.eq(self.ready.p.place + self.production.shift < self.limit_in),
            choice.a.valid.eq(self.ready.valid & eligible),
            choice.a.p.ready.eq(self.ready.p),
            self.ready.ready.eq(choice.a.ready & choice.a.valid),
            choice.b.valid.eq(self.copies.valid),
            choice.b.p.copy.eq(1),
            choice.b.p.ready.command.eq(self.copies.p.command),
            choice.b.p.ready.start.eq(self.copies.p.start),
            self.copies.ready.eq(choice.b.ready),
            choice.o.ready.eq(state == _State.IDLE),
            take.eq(choice.o.valid & choice.o.ready),
            self.picked.eq(take & ~choice.o.p.copy & choice.o.p.ready.last),
            self.idle.eq((state == _State.IDLE) & ~self.ready.valid & ~self.copies.valid),
        ]
        with m.If(take):
            m.d.sync += [
                taken.eq(choice.o.p),
                command.eq(Array(self.maps.commands)[choice.o.p.ready.command]),
            ]

        # Scale: what lies before the tile of the command's wavefront, and how large it is.
        ready = taken.ready
        wavefront = Signal(reset_less=True)  # the command moves one wavefront's tile
        rows = Signal(16, reset_less=True)
        run = Signal(16, reset_less=True)
        rows_before = Signal(16 + p.wavefront_bits, reset_less=True)
        run_before = Signal(16 + p.wavefront_bits, reset_less=True)
        run_size = Signal(16, reset_less=True)
        workgroup = Signal(p.workgroup_bits, reset_less=True)
        major = ready.wavefront >> command.waves_minor_log2
        minor = ready.wavefront & ((1 << command.waves_minor_log2) - 1)
        first = self.production.first_workgroup
        workgroups = self.production.workgroups
        m.d.sync += [
            wavefront.eq(~taken.copy & (command.granularity == Granularity.WAVEFRONT)),
            rows.eq(Mux(ready.row_edge, command.rows_edge, command.rows)),
            run.eq(Mux(ready.run_edge, command.run_edge, command.run)),
            rows_before.eq(major * command.wave_rows),
            run_before.eq(minor << command.wave_run_log2),
            run_size.eq(1 << command.wave_run_log2),
            workgroup.eq(
                Mux(
                    ready.place + first >= workgroups,
                    ready.place + (first - workgroups),
                    ready.place + first,
                )
            ),
        ]

        # The walk: what all its pieces have in common, and where the next one begins.
        members = Piece(p).members
        piece = Signal(
            data.StructLayout({name: members[name] for name in members if name != "length"})
        )
        row_start = Signal(p.atom_address_bits)
        remote_start = Signal(p.atom_address_bits)
        rows_left = Signal(16)
        run_length = Signal(16)
        wave_row = Signal(16)
        whole = wavefront | taken.copy  # the wavefront's number stays the same
        rows_shared = Signal(16)
        run_shared = Signal(16)
        m.d.comb += [
            rows_shared.eq(Mux(wavefront, _share(rows, rows_before, command.wave_rows), rows)),
            run_shared.eq(Mux(wavefront, _share(run, run_before, run_size), run)),
        ]
        with m.If(state == _State.SHAPE):
            m.d.sync += [
                rows_left.eq(rows_shared),
                run_length.eq(run_shared),
                row_start.eq(ready.start),
                remote_start.eq(ready.start + command.atom_offset),
                wave_row.eq(1),
                piece.atom.eq(ready.start),
                piece.remote.eq(ready.start + command.atom_offset),
                piece.offset.eq(0),
                piece.wave_run_log2.eq(Mux(whole, WHOLE_RUN, command.wave_run_log2)),
                piece.wavefront.eq(Mux(wavefront, ready.wavefront, 0)),
                piece.workgroup.eq(Mux(taken.copy, 0, workgroup)),
            ]
            m.d.sync += [
                piece[name].eq(command[name]) for name in ("context", "kind", "op", "dtype")
            ]

        walking = Signal()
        room = Signal(range(p.interleave_atoms + 1))
        rest = Signal(16)
        fits = Signal()  # the run ends in this piece
        length = Signal.like(room)
        lanes = Signal(p.channels)
        advance = Signal()
        m.d.comb += [
            walking.eq(state == _State.WALK),
            room.eq(p.interleave_atoms - (piece.atom & (p.interleave_atoms - 1))),
            rest.eq(run_length - piece.offset),
            fits.eq(rest <= room),
            length.eq(Mux(fits, rest, room)),
            lanes.eq(
                Cat(
                    channel_of(p, piece.atom) == p.first_channel + index
                    for index in range(p.channels)
                )
            ),
            # A lane that is not served here takes everything.
            advance.eq(~(lanes & ~Cat(lane.ready for lane in self.pieces)).any()),
        ]
        for lane, chosen in zip(self.pieces, lanes, strict=True):
            m.d.comb += [lane.p[name].eq(piece[name]) for name in piece.shape().members]
            m.d.comb += [lane.p.length.eq(length), lane.valid.eq(walking & chosen)]

        next_row = row_start + command.pitch
        next_remote = remote_start + command.pitch
        with m.If(walking & advance):
            with m.If(~fits):
                m.d.sync += [
                    piece.atom.eq(piece.atom + length),
                    piece.remote.eq(piece.remote + length),
                    piece.offset.eq(piece.offset + length),
                ]
            with m.Else():
                m.d.sync += [
                    piece.atom.eq(next_row),
                    piece.remote.eq(next_remote),
                    piece.offset.eq(0),
                    row_start.eq(next_row),
                    remote_start.eq(next_remote),
                    rows_left.eq(rows_left - 1),
                    wave_row.eq(wave_row + 1),
                ]
                with m.If((wave_row == command.wave_rows) & ~whole):
                    m.d.sync += [
                        wave_row.eq(1),
                        piece.wavefront.eq(piece.wavefront + (1 << command.waves_minor_log2)),
                    ]

        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(take):
                    m.d.sync += state.eq(_State.SCALE)
            with m.Case(_State.SCALE):
                m.d.sync += state.eq(_State.SHAPE)
            with m.Case(_State.SHAPE):
                empty = (rows_shared == 0) | (run_shared == 0)
                m.d.sync += state.eq(Mux(empty, _State.IDLE, _State.WALK))
            with m.Case(_State.WALK):
                with m.If(advance & fits & (rows_left == 1)):
                    m.d.sync += state.eq(_State.IDLE)
        return m
