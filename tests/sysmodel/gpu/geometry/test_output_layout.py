import numpy as np
import pytest

from sysmodel.gpu.atoms import ELEMENTS
from tests.support.small_kernel import small_kernel


def atom_of(layout, row, column):
    """Atom of an element, with rows of contiguous elements padded to whole atoms."""
    inner, outer = (row, column) if layout.column_major else (column, row)
    long = layout.tiling.m if layout.column_major else layout.tiling.n
    return outer * -(-long // ELEMENTS) + inner // ELEMENTS


def shaped(m, n, column_major):
    return small_kernel(m=m, n=n, tile_n=16, waves_m=1, gpus=1, column_major=column_major).layout


def visited(first, outer, inner, stride):
    return {first + r * stride + o for r in range(outer) for o in range(inner)}


def test_edges_are_the_remainders():
    layout = small_kernel(m=3 * 64 + 17, n=2 * 8 + 3).layout
    assert (
        layout.inner_extent,
        layout.inner_extent_edge,
        layout.outer_extent,
        layout.outer_extent_edge,
    ) == (4, 2, 8, 3)
    assert (layout.stride, layout.outer_total, layout.atoms) == (14, 19, 14 * 19)
    whole = small_kernel().layout
    assert (whole.inner_extent_edge, whole.outer_extent_edge) == (
        whole.inner_extent,
        whole.outer_extent,
    )


def test_run_of_one_wavefront_need_not_be_a_power_of_two():
    assert small_kernel(tile_m=48, waves_m=1, m=96).layout.wave_inner_extent == 3


@pytest.mark.parametrize("column_major", [True, False])
@pytest.mark.parametrize("m,n", [(256, 32), (250, 31), (17, 9), (193, 200)])
def test_a_walk_visits_the_atoms_of_its_tile(m, n, column_major):
    """The tiles come in no order of a kernel."""
    layout = shaped(m, n, column_major)
    tiling, random = layout.tiling, np.random.default_rng(5)
    tiles = random.permutation([*np.ndindex(tiling.grid_m, tiling.grid_n)])
    walk = layout.walk(tiles[:, 0], tiles[:, 1])
    for w, (i, j) in enumerate(tiles.tolist()):
        row, column = np.indices((m, n))
        mine = (row // tiling.tile_m == i) & (column // tiling.tile_n == j)
        expected = set(atom_of(layout, row, column)[mine].tolist())
        found = visited(int(walk.first[w]), int(walk.outer[w]), int(walk.inner[w]), layout.stride)
        assert found == expected
        last_row, last_column = i == tiling.grid_m - 1, j == tiling.grid_n - 1
        inner, outer = (last_row, last_column) if column_major else (last_column, last_row)
        assert (walk.inner_edge[w], walk.outer_edge[w]) == (inner, outer)


@pytest.mark.parametrize("column_major", [True, False])
@pytest.mark.parametrize("top,bottom,left,right", [(0, 2, 0, 1), (1, 3, 1, 4), (3, 4, 2, 13)])
def test_a_rectangle_covers_its_tiles(top, bottom, left, right, column_major):
    layout = shaped(250, 200, column_major)
    assert (layout.tiling.grid_m, layout.tiling.grid_n) == (4, 13)
    row, column = np.indices((250, 200))
    inside = (top <= row // 64) & (row // 64 < bottom) & (left <= column // 16)
    expected = set(atom_of(layout, row, column)[inside & (column // 16 < right)].tolist())
    assert visited(*layout.rectangle(top, bottom, left, right), layout.stride) == expected


@pytest.mark.parametrize(
    "changes,message",
    [
        ({"tile_m": 40}, "a wavefront's inner extent of 20 elements must be a multiple of 16"),
        ({"tile_m": 96}, "a power of two atoms where wavefronts share a row, not 3"),
    ],
)
def test_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small_kernel(**changes)
