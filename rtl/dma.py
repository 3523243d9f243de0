"""The DMA engine: walks the tile of a command, and hands it in pieces to the channels' lanes."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
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


def _share(total: Value, begin: Value, size: Value) -> Value:
    """Length of the part of ``total`` that begins at ``begin`` and is at most ``size`` long."""
    rest = Mux(begin < total, (total - begin)[: len(total)], 0)
    return Mux(rest < size, rest, size)


class DmaEngine(wiring.Component):
    """Takes one command at a time and cuts its walk where the channel changes and where a run ends.

    A command is taken in one cycle, its first piece leaves in the next, then one piece per cycle;
    in the cycle after the last piece the next command is taken. Pieces of channels that are not
    served here cost a cycle and are dropped. A command without rows or atoms gives no piece.

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
        offer = data.StructLayout({"copy": 1, "ready": ReadyCommand(p)})
        m.submodules.choice = choice = Merge2(offer)
        eligible = Signal()
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
        ]
        taken = choice.o.p.ready
        take = Signal()
        walking = Signal()
        m.d.comb += [
            choice.o.ready.eq(~walking),
            take.eq(choice.o.valid & choice.o.ready),
            self.picked.eq(take & ~choice.o.p.copy & taken.last),
            self.idle.eq(~walking & ~self.ready.valid & ~self.copies.valid),
        ]

        # Geometry of the walk.
        command = Signal(CommandEntry(p))
        with m.Switch(taken.command):
            for index, entry in enumerate(self.maps.commands):
                with m.Case(index):
                    m.d.comb += command.eq(entry)
        wavefront = Signal()  # the command moves one wavefront's tile
        rows = Signal(16)
        run = Signal(16)
        m.d.comb += [
            wavefront.eq(~choice.o.p.copy & (command.granularity == Granularity.WAVEFRONT)),
            rows.eq(Mux(taken.row_edge, command.rows_edge, command.rows)),
            run.eq(Mux(taken.run_edge, command.run_edge, command.run)),
        ]
        major = taken.wavefront >> command.waves_minor_log2
        minor = taken.wavefront & ((1 << command.waves_minor_log2) - 1)
        wave_rows = _share(rows, major * command.wave_rows, command.wave_rows)
        wave_run = _share(run, minor << command.wave_run_log2, 1 << command.wave_run_log2)
        workgroup = Signal(p.workgroup_bits + 1)
        past = Signal()
        m.d.comb += [
            workgroup.eq(taken.place + self.production.first_workgroup),
            past.eq(workgroup >= self.production.workgroups),
        ]

        # The walk: what all its pieces have in common, and where the next one begins.
        members = Piece(p).members
        piece = Signal(
            data.StructLayout({name: members[name] for name in members if name != "length"})
        )
        row_start = Signal(p.atom_address_bits)
        rows_left = Signal(16)
        run_length = Signal(16)
        pitch = Signal(24)
        wave_height = Signal(16)  # rows of a wavefront; 0: the wavefront stays the same
        wave_row = Signal(16)
        wave_step = Signal(range(9))
        whole = wavefront | choice.o.p.copy
        with m.If(take):
            m.d.sync += [
                rows_left.eq(Mux(wavefront, wave_rows, rows)),
                run_length.eq(Mux(wavefront, wave_run, run)),
                row_start.eq(taken.start),
                pitch.eq(command.pitch),
                wave_height.eq(Mux(whole, 0, command.wave_rows)),
                wave_row.eq(1),
                wave_step.eq(1 << command.waves_minor_log2),
                piece.atom.eq(taken.start),
                piece.offset.eq(0),
                piece.wave_run_log2.eq(Mux(whole, WHOLE_RUN, command.wave_run_log2)),
                piece.wavefront.eq(Mux(wavefront, taken.wavefront, 0)),
                piece.workgroup.eq(
                    Mux(choice.o.p.copy, 0, workgroup - Mux(past, self.production.workgroups, 0))
                ),
            ]
            m.d.sync += [
                piece[name].eq(command[name])
                for name in ("context", "kind", "op", "dtype", "atom_offset")
            ]

        room = Signal(range(p.interleave_atoms + 1))
        rest = Signal(16)
        length = Signal.like(room)
        channel = Signal.like(Value.cast(channel_of(p, piece.atom)))
        advance = Signal()
        next_row = Signal(p.atom_address_bits)
        m.d.comb += [
            walking.eq((rows_left != 0) & (run_length != 0)),
            room.eq(p.interleave_atoms - (piece.atom & (p.interleave_atoms - 1))),
            rest.eq(run_length - piece.offset),
            length.eq(Mux(rest < room, rest, room)),
            channel.eq(channel_of(p, piece.atom)),
            advance.eq(1),
            next_row.eq(row_start + pitch),
        ]
        for index, lane in enumerate(self.pieces):
            m.d.comb += [lane.p[name].eq(piece[name]) for name in piece.shape().members]
            m.d.comb += lane.p.length.eq(length)
            with m.If(channel == p.first_channel + index):
                m.d.comb += [lane.valid.eq(walking), advance.eq(lane.ready)]
        with m.If(walking & advance):
            with m.If(rest > room):
                m.d.sync += [
                    piece.atom.eq(piece.atom + length),
                    piece.offset.eq(piece.offset + length),
                ]
            with m.Else():
                m.d.sync += [
                    piece.atom.eq(next_row),
                    piece.offset.eq(0),
                    row_start.eq(next_row),
                    rows_left.eq(rows_left - 1),
                    wave_row.eq(wave_row + 1),
                ]
                with m.If(wave_row == wave_height):
                    m.d.sync += [
                        wave_row.eq(1),
                        piece.wavefront.eq(piece.wavefront + wave_step),
                    ]
        return m
