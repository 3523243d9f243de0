"""Invariants of the DMA engine: its progress in a tile, for the induction."""

from types import SimpleNamespace

from amaranth.hdl import Cat, Const, Module, Mux, Value

from rtl.dma.engine import WHOLE_ROW, DmaEngine, State
from rtl.lib.pending_carry import join

from .dma_engine_marks import kind_of
from .invariant import invariant

__all__ = ["assert_inside"]


def assert_inside(m: Module, dut: DmaEngine, tile: SimpleNamespace) -> None:
    """Relate the engine's registers to the walks of the harness."""
    common, walk, template = dut.common, dut.walk, tile.template
    scale = tile.busy & (tile.since == 1)
    shape = tile.busy & (tile.since == 2)
    m.d.comb += [
        invariant((dut.state == State.SCALE) == scale, "in SCALE"),
        invariant((dut.state == State.SHAPE) == shape, "in SHAPE"),
        invariant((dut.state == State.WALK) == tile.walks, "in WALK"),
        invariant((dut.state == State.MARK) == tile.marking, "in MARK"),
        invariant(~tile.marking | (tile.busy & (tile.since == 3) & tile.marks), "marking"),
        invariant(~tile.busy | (tile.since != 0), "busy without a time"),
    ]
    with m.If(tile.busy):
        m.d.comb += [
            invariant(Value.cast(common[name]) == Value.cast(template[name]), f"common {name}")
            for name in ("op", "dtype", "atom_offset")
        ]
        m.d.comb += invariant(Value.cast(common.kind) == kind_of(tile), "common kind")
        m.d.comb += [
            invariant(common.peers == tile.peers, "common peers"),
            invariant(common.generation == tile.generation, "common generation"),
            invariant(dut.is_copy == tile.copy, "is_copy"),
            invariant(
                dut.dispatch_index == Mux(tile.copy, 0, tile.command.dispatch_index),
                "dispatch_index",
            ),
            invariant(dut.by_wavefront == tile.by_wavefront, "by_wavefront"),
            invariant(walk.stride == template.stride[: len(walk.stride)], "stride"),
            invariant(dut.region_number == template.region, "region_number"),
            invariant(walk.minor_log2 == template.waves_inner_log2, "minor_log2"),
            invariant(dut.marks == tile.marks, "marks"),
            invariant(dut.wave_rows == template.wave_outer_extent, "rows of a wavefront"),
        ]
        with m.If(~tile.copy):
            edges = Cat(tile.command.outer_edge, tile.command.inner_edge)
            m.d.comb += invariant(dut.edges == edges, "edges")
    _assert_marking(m, dut, tile, shape)
    with m.If(scale | shape):
        m.d.comb += [
            invariant(walk.rows == tile.total_rows, "all rows"),
            invariant(walk.inner_extent == tile.total_run, "all atoms of a row"),
            invariant(walk.wave_outer_extent == template.wave_outer_extent, "wave_outer_extent"),
            invariant(common.wave_inner_log2 == template.wave_inner_log2, "wave_inner_log2"),
        ]
    with m.If(scale):
        slot = common.slot + dut.dispatch_index
        m.d.comb += invariant(
            slot[: len(tile.slot)] == tile.slot, "slot before its offset is added"
        )
        waves = tile.template.waves[Cat(tile.command.outer_edge, tile.command.inner_edge)]
        m.d.comb += [
            invariant(tile.copy | (walk.wavefront == tile.command.wavefront), "wavefront"),
            invariant(tile.copy | (dut.wavefront == tile.command.wavefront), "wavefront to mark"),
            invariant(
                tile.copy | (dut.last_wavefront == (waves - 1)[: len(dut.last_wavefront)]),
                "number of wavefronts",
            ),
        ]
    with m.If(shape):
        m.d.comb += [
            invariant(tile.copy | (dut.outer_before == tile.outer_before), "rows before"),
            invariant(tile.copy | (dut.inner_before == tile.inner_before), "run before"),
            invariant(common.slot == tile.slot, "slot"),
        ]
    with m.If(tile.copy | shape | tile.walks):
        m.d.comb += invariant(
            ~tile.busy | (Value.cast(dut.region) == Value.cast(tile.region)), "region"
        )
    with m.If(shape | tile.walks):
        m.d.comb += [
            invariant(walk.wavefront == _first_wavefront(tile), "first wavefront"),
        ]
    m.d.comb += invariant(~tile.walks | tile.any, "a walk over no atom")
    with m.If(tile.walks | tile.marking):
        m.d.comb += [
            invariant(common.slot == tile.slot, "slot"),
            invariant(
                common.wave_inner_log2
                == Mux(tile.copy | tile.by_wavefront, WHOLE_ROW, template.wave_inner_log2),
                "wave_inner_log2 of the walk",
            ),
            invariant(walk.rows == tile.outer_extent, "rows"),
            invariant(walk.inner_extent == tile.inner_extent, "inner_extent"),
        ]
    _assert_division(m, dut, tile)
    _assert_offers(m, dut, tile)
    for number, (walker, ghost) in enumerate(zip(dut.walkers, tile.walkers, strict=True)):
        width = len(tile.start)
        later = shape | tile.walks | tile.marking
        m.d.comb += invariant(Mux(walker.skips, ~later, ~scale), f"walker {number}: skips")
        with m.If(scale):
            m.d.comb += [
                invariant(join(walker.next_row) == tile.start, f"walker {number}: first row"),
                invariant(walker.next_row.carry == 0, f"walker {number}: first carry"),
            ]
        with m.If(shape):
            first = (tile.start + number * template.stride)[:width]
            m.d.comb += invariant(join(walker.next_row) == first, f"walker {number}: first row")
        with m.If(tile.walks):
            _assert_walker(m, dut, tile, walker, ghost, number)


def _assert_marking(m: Module, dut: DmaEngine, tile: SimpleNamespace, shape: Value) -> None:
    """Relate the current wavefront's part of the tile to its marker."""
    with m.If(tile.marks & (shape | tile.walks | tile.marking)):
        m.d.comb += [
            invariant(dut.last_wavefront == tile.last_wave, "last wavefront"),
            invariant(
                dut.wavefront == Mux(tile.marking, tile.wave, _first_wavefront(tile)),
                "current wavefront",
            ),
        ]
    with m.If(tile.walks):
        m.d.comb += invariant(dut.phase == Mux(tile.by_wavefront, 2, 0), "first step")
    with m.If(tile.marking):
        m.d.comb += [
            invariant(dut.phase == tile.phase, "step"),
            invariant(
                (tile.phase != 1)
                | ((dut.outer_before == tile.wave_outer) & (dut.inner_before == tile.wave_inner)),
                "atoms before the wavefront",
            ),
            invariant((tile.phase != 3) | (dut.atoms == tile.wave_atoms), "atoms"),
            invariant(~tile.by_wavefront | (tile.phase >= 2), "a step without effect"),
            invariant(
                ~tile.by_wavefront | (tile.wave == tile.command.wavefront), "another wavefront"
            ),
        ]
    bits = len(dut.atoms)
    known = tile.marking & (tile.phase >= 2) | tile.walks & tile.by_wavefront
    with m.If(known):
        m.d.comb += [
            invariant(dut.part_rows == tile.wave_part[:bits], "rows of the part"),
            invariant(dut.part_atoms == tile.wave_run[:bits], "atoms of a row of the part"),
        ]


def _first_wavefront(tile: SimpleNamespace) -> Value:
    return Mux(tile.by_wavefront, tile.command.wavefront, 0)


def _assert_division(m: Module, dut: DmaEngine, tile: SimpleNamespace) -> None:
    """Relate a step to its number of wavefronts and the rows beyond them."""
    walk, step = dut.walk, len(dut.walkers)
    changes = tile.wave_rows != 0
    steps, rest = Const(0, walk.wave_steps.shape()), Const(step)
    for rows in range(1, step + 1):
        steps = Mux(tile.wave_rows == rows, step // rows, steps)
        rest = Mux(tile.wave_rows == rows, step % rows, rest)
    with m.If(tile.walks):
        m.d.comb += [
            invariant(walk.wave_steps == steps[: len(walk.wave_steps)], "wavefronts of a step"),
            invariant(~changes | (walk.wave_rest == rest), "rest of a step"),
            invariant(
                walk.wave_outer_extent == Mux(changes, tile.wave_rows - rest, 0)[:16],
                "rows of a wavefront",
            ),
        ]


def _assert_offers(m: Module, dut: DmaEngine, tile: SimpleNamespace) -> None:
    """Relate waiting walkers to the stored offers of the lanes."""
    walkers = range(len(dut.walkers))
    if len(dut.walkers) > 1:
        m.d.comb += [
            invariant(
                dut.waits[number] == Cat(kept[number] for kept in tile.kept).any(),
                f"walker {number}: waits",
            )
            for number in walkers
        ]
    for index, kept in enumerate(tile.kept):
        m.d.comb += [
            invariant(~kept[number] | tile.walkers[number].served[index], f"lane {index}: stored")
            for number in walkers
        ]
        m.d.comb += invariant((kept & (kept - 1)[: len(kept)]) == 0, f"lane {index}: two stored")


def _assert_walker(
    m: Module, dut: DmaEngine, tile: SimpleNamespace, walker, ghost: SimpleNamespace, number: int
) -> None:
    step = len(dut.walkers)
    step_log2 = (step - 1).bit_length()
    has_rows = tile.outer_extent > number
    width = len(tile.start)
    m.d.comb += [
        invariant(ghost.row[:step_log2] == number, f"walker {number}: row of another walker"),
        invariant(
            walker.ended == (has_rows & (ghost.row >= tile.outer_extent)),
            f"walker {number}: ended",
        ),
        invariant(
            (ghost.row >= number) & (ghost.row < tile.outer_extent + step),
            f"walker {number}: beyond the last row",
        ),
        invariant(has_rows | (ghost.row == number), f"walker {number}: began"),
    ]
    with m.If(ghost.walks):
        next_row = ghost.row_start + step * tile.template.stride
        m.d.comb += [
            invariant(ghost.offset < tile.inner_extent, f"walker {number}: beyond the row"),
            invariant(walker.atom == ghost.atom, f"walker {number}: atom"),
            invariant(
                walker.inner_left == tile.inner_extent - ghost.offset,
                f"walker {number}: rest of the row",
            ),
            invariant(walker.row_ends == ghost.row_ends, f"walker {number}: the row ends"),
            invariant(join(walker.next_row) == next_row[:width], f"walker {number}: next row"),
            invariant(
                walker.row == ((ghost.row >> step_log2) + 1)[: len(walker.row)],
                f"walker {number}: rows",
            ),
            invariant(walker.wavefront == ghost.wavefront, f"walker {number}: wavefront"),
        ]
        with m.If(tile.wave_rows != 0):
            m.d.comb += [
                invariant(walker.wave_row == ghost.wave_row, f"walker {number}: row of a wave"),
                invariant(ghost.wave_row < tile.wave_rows, f"walker {number}: beyond the wave"),
            ]
