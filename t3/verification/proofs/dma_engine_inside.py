"""How far the DMA engine is with a tile, for the induction."""

from types import SimpleNamespace

from amaranth.hdl import Module, Mux, Value

from rtl.dma.engine import DmaEngine, State
from rtl.lib.pending_carry import join

from .invariant import invariant

__all__ = ["assert_inside"]


def assert_inside(m: Module, dut: DmaEngine, tile: SimpleNamespace, expected) -> None:
    """Link the engine's registers to the walk of the harness; ``expected``: the next segment."""
    segment, template = dut.segment, tile.template
    scale = tile.busy & (tile.since == 1)
    shape = tile.busy & (tile.since == 2)
    fixed = tile.copy | tile.by_wavefront
    width = len(tile.row_start)
    stride = template.stride[:width]
    m.d.comb += [
        invariant((dut.state == State.SCALE) == scale, "in SCALE"),
        invariant((dut.state == State.SHAPE) == shape, "in SHAPE"),
        invariant((dut.state == State.WALK) == tile.walks, "in WALK"),
        invariant(~tile.busy | (tile.since != 0), "taken, but not since when"),
    ]
    with m.If(tile.busy):
        m.d.comb += [
            invariant(dut.is_copy == tile.copy, "is_copy"),
            invariant(dut.by_wavefront == tile.by_wavefront, "by_wavefront"),
            invariant(dut.stride == stride, "stride"),
            invariant(dut.minor_log2 == template.waves_inner_log2, "minor_log2"),
        ]
    with m.If(scale | shape):
        m.d.comb += [
            invariant(Value.cast(segment[name]) == Value.cast(template[name]), f"segment's {name}")
            for name in ("context", "kind", "op", "dtype")
        ]
        m.d.comb += [
            invariant(dut.outer_extent == tile.total_rows, "all rows"),
            invariant(dut.inner_extent == tile.total_run, "all of a row"),
            invariant(dut.wave_outer_extent == template.wave_outer_extent, "wave_outer_extent"),
            invariant(segment.wave_inner_log2 == template.wave_inner_log2, "wave_inner_log2"),
            invariant(segment.atom == tile.start, "start"),
            invariant(segment.remote == template.atom_offset, "atom_offset"),
            invariant(tile.copy | (segment.wavefront == tile.command.wavefront), "wavefront"),
        ]
    with m.If(scale):
        m.d.comb += [
            invariant(join(dut.next_row) == tile.start, "first row"),
            invariant(
                tile.copy | (segment.workgroup == tile.command.dispatch_index), "dispatch_index"
            ),
        ]
    with m.If(shape):
        m.d.comb += [
            invariant(tile.copy | (dut.outer_before == tile.outer_before), "rows before"),
            invariant(tile.copy | (dut.inner_before == tile.inner_before), "run before"),
            invariant(join(dut.next_row) == (tile.start + stride)[:width], "second row"),
            invariant(
                join(dut.next_remote_row) == (tile.start + template.atom_offset)[:width],
                "first remote row",
            ),
            invariant(segment.workgroup == tile.workgroup, "workgroup"),
        ]
    with m.If(tile.walks):
        next_row = tile.row_start + stride
        m.d.comb += [
            invariant(Value.cast(segment[name]) == Value.cast(value), f"next segment's {name}")
            for name, value in expected.items()
        ]
        m.d.comb += [
            invariant(tile.any, "walks nothing"),
            invariant(tile.row < tile.outer_extent, "beyond the last row"),
            invariant(tile.wave_row <= tile.row, "more rows of a wavefront than rows"),
            invariant(tile.offset < tile.inner_extent, "beyond the row"),
            invariant(dut.outer_extent == tile.outer_extent - tile.row, "rows that are left"),
            invariant(dut.inner_extent == tile.inner_extent, "inner_extent"),
            invariant(dut.inner_left == tile.inner_extent - tile.offset, "left of the row"),
            invariant(join(dut.next_row) == next_row[:width], "next row"),
            invariant(
                join(dut.next_remote_row) == (next_row + template.atom_offset)[:width],
                "next remote row",
            ),
            invariant(
                dut.wave_outer_extent == Mux(fixed, 0, template.wave_outer_extent),
                "rows of a wavefront",
            ),
            invariant(dut.wave_row == (tile.wave_row + 1)[:16], "row within a wavefront"),
        ]
