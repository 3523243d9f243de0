"""How far the DMA engine is with a tile, for the induction."""

from types import SimpleNamespace

from amaranth.hdl import Module, Mux, Value

from rtl.lib.pending_carry import join

from .inside import invariant

__all__ = ["assert_inside"]


def assert_inside(m: Module, inside: SimpleNamespace, tile: SimpleNamespace, expected) -> None:
    """Link the engine's registers to the walk of the harness; ``expected``: the next piece."""
    states, piece, template = inside.states, inside.piece, tile.template
    scale = tile.busy & (tile.since == 1)
    shape = tile.busy & (tile.since == 2)
    fixed = tile.copy | tile.by_wavefront
    width = len(tile.row_start)
    pitch = template.pitch[:width]
    m.d.comb += [
        invariant((inside.state == states.SCALE) == scale, "in SCALE"),
        invariant((inside.state == states.SHAPE) == shape, "in SHAPE"),
        invariant((inside.state == states.WALK) == tile.walks, "in WALK"),
        invariant(~tile.busy | (tile.since != 0), "taken, but not since when"),
    ]
    with m.If(tile.busy):
        m.d.comb += [
            invariant(inside.is_copy == tile.copy, "is_copy"),
            invariant(inside.by_wavefront == tile.by_wavefront, "by_wavefront"),
            invariant(inside.pitch == pitch, "pitch"),
            invariant(inside.minor_log2 == template.waves_minor_log2, "minor_log2"),
        ]
    with m.If(scale | shape):
        m.d.comb += [
            invariant(Value.cast(piece[name]) == Value.cast(template[name]), f"piece's {name}")
            for name in ("context", "kind", "op", "dtype")
        ]
        m.d.comb += [
            invariant(inside.rows == tile.total_rows, "all rows"),
            invariant(inside.run == tile.total_run, "all of a run"),
            invariant(inside.wave_rows == template.wave_rows, "wave_rows"),
            invariant(piece.wave_run_log2 == template.wave_run_log2, "wave_run_log2"),
            invariant(piece.atom == tile.start, "start"),
            invariant(piece.remote == template.atom_offset, "atom_offset"),
            invariant(tile.copy | (piece.wavefront == tile.command.wavefront), "wavefront"),
        ]
    with m.If(scale):
        m.d.comb += [
            invariant(join(inside.next_row) == tile.start, "first row"),
            invariant(tile.copy | (piece.workgroup == tile.command.place), "place"),
        ]
    with m.If(shape):
        m.d.comb += [
            invariant(tile.copy | (inside.rows_before == tile.rows_before), "rows before"),
            invariant(tile.copy | (inside.run_before == tile.run_before), "run before"),
            invariant(join(inside.next_row) == (tile.start + pitch)[:width], "second row"),
            invariant(
                join(inside.next_remote_row) == (tile.start + template.atom_offset)[:width],
                "first remote row",
            ),
            invariant(piece.workgroup == tile.workgroup, "workgroup"),
        ]
    with m.If(tile.walks):
        next_row = tile.row_start + pitch
        m.d.comb += [
            invariant(Value.cast(piece[name]) == Value.cast(value), f"next piece's {name}")
            for name, value in expected.items()
        ]
        m.d.comb += [
            invariant(tile.any, "walks nothing"),
            invariant(tile.row < tile.rows, "beyond the last row"),
            invariant(tile.wave_row <= tile.row, "more rows of a wavefront than rows"),
            invariant(tile.offset < tile.run, "beyond the run"),
            invariant(inside.rows == tile.rows - tile.row, "rows that are left"),
            invariant(inside.run == tile.run, "run"),
            invariant(inside.run_left == tile.run - tile.offset, "left of the run"),
            invariant(join(inside.next_row) == next_row[:width], "next row"),
            invariant(
                join(inside.next_remote_row) == (next_row + template.atom_offset)[:width],
                "next remote row",
            ),
            invariant(inside.wave_rows == Mux(fixed, 0, template.wave_rows), "rows of a wavefront"),
            invariant(inside.wave_row == (tile.wave_row + 1)[:16], "row within a wavefront"),
        ]
