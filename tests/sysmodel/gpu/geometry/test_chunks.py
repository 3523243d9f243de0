import numpy as np
import pytest

from tests.support.small_kernel import small_kernel


def test_bands_go_down_their_rows_then_on_to_the_next_column():
    chunks = small_kernel(m=4 * 64, n=3 * 8, gpus=2).chunks
    row, column = chunks.tiles
    assert chunks.band == 2
    assert list(zip(row, column, strict=True)) == [
        (0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2),
        (2, 0), (3, 0), (2, 1), (3, 1), (2, 2), (3, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("gpus", [2, 3, 4])
@pytest.mark.parametrize("m,n", [(256, 32), (500, 50), (1000, 200)])
def test_every_tile_is_one_workgroup(m, n, gpus):
    row, column = small_kernel(m=m, n=n, gpus=gpus).chunks.tiles
    grid = -(-m // 64), -(-n // 8)
    assert sorted(zip(row, column, strict=True)) == [tuple(tile) for tile in np.ndindex(grid)]


@pytest.mark.parametrize("gpus", [2, 3, 5, 8, 16])
def test_chunks_are_contiguous_and_as_equal_as_can_be(gpus):
    kernel = small_kernel(gpus=gpus)
    chunks, sizes = kernel.chunks, kernel.chunks.sizes
    assert len(sizes) == gpus
    assert max(sizes) - min(sizes) <= 1
    assert chunks.start.tolist() == [sum(sizes[:chunk]) for chunk in range(gpus + 1)]
    assert chunks.start[-1] == kernel.workgroups == 16
    owners = [chunk for chunk, size in enumerate(sizes) for _ in range(size)]
    assert chunks.of_workgroup.tolist() == owners


@pytest.mark.parametrize(
    "tile_rows,gpus,mapping,band",
    [
        (16, 4, 8, 4),  # a chunk's rows, if the mapping allows them
        (24, 4, 4, 4),  # bands of 4 and 2 rows
        (14, 2, 4, 4),  # bands of 4 and 3 rows
        (16, 2, 1, 1),
        (2, 4, 8, 1),  # a chunk is a part of a row
        (5, 3, 4, 4),  # no chunk is whole rows
        (3, 2, 8, 3),
    ],
)
def test_band(tile_rows, gpus, mapping, band):
    kernel = small_kernel(m=64 * tile_rows, gpus=gpus, workgroup_mapping=mapping)
    assert kernel.chunks.band == band


@pytest.mark.parametrize(
    "tiles,gpus,cut",
    [
        ((16, 16), 4, (4, 1)),  # 64 x 8 elements a tile: four rows of tiles are near a square
        ((2, 128), 8, (1, 8)),
        ((4, 3), 4, (4, 1)),
        ((3, 16), 4, (1, 4)),
        ((6, 4), 8, (2, 4)),
        ((5, 7), 3, None),
    ],
)
def test_cut_into_chunks(tiles, gpus, cut):
    kernel = small_kernel(m=64 * tiles[0], n=8 * tiles[1], gpus=gpus)
    chunks = kernel.chunks
    assert chunks.cut == cut
    if cut is None:
        return
    assert kernel.uniform
    row, column = chunks.tiles
    height, width = tiles[0] // cut[0], tiles[1] // cut[1]
    for chunk in range(gpus):
        members = slice(*chunks.start[chunk : chunk + 2])
        assert len(set(row[members])) == height and len(set(column[members])) == width
        assert np.ptp(row[members]) == height - 1 and np.ptp(column[members]) == width - 1
        assert len(chunks.rectangles(chunk)) == 1


def test_a_cut_through_the_ragged_edge_is_avoided():
    # Both cuts are possible; only that of the rows makes equal chunks.
    kernel = small_kernel(m=64 * 4, n=8 * 64 - 3, gpus=4)
    assert kernel.chunks.cut == (4, 1)
    assert kernel.uniform
    assert not small_kernel(m=64 * 3, n=8 * 64 - 3, gpus=4).uniform


@pytest.mark.parametrize(
    "rows,columns,gpus,most",
    [(4, 4, 2, 1), (2, 8, 8, 1), (6, 3, 3, 1), (10, 7, 3, 5), (10, 12, 7, 5), (32, 4, 5, 5)],
)
def test_rectangles_cover_the_tiles_of_a_chunk_once(rows, columns, gpus, most):
    chunks = small_kernel(m=64 * rows, n=8 * columns, gpus=gpus).chunks
    row, column = chunks.tiles
    for chunk in range(gpus):
        rectangles = chunks.rectangles(chunk)
        covered = [
            (i, j)
            for top, bottom, left, right in rectangles
            for i in range(top, bottom)
            for j in range(left, right)
        ]
        mine = chunks.of_workgroup == chunk
        assert sorted(covered) == sorted(zip(row[mine], column[mine], strict=True))
        assert len(rectangles) <= most


@pytest.mark.parametrize(
    "changes,message",
    [
        ({"m": 64, "gpus": 5}, "4 workgroups .* into 5 chunks; allowed: tp up to 4, or a larger"),
        ({"m": 1, "n": 1, "gpus": 2}, "1 workgroup cannot .* 2 chunks; allowed: a larger matrix"),
    ],
)
def test_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small_kernel(**changes)
