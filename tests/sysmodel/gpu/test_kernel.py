import numpy as np
import pytest

from sysmodel.gpu.kernel import ELEMENTS, OUTPUT_ATOM
from tests.support.small_kernel import OFFSET_BITS, channel_by_hand, small_kernel

SIZES = [(256, 32), (250, 31), (64, 41), (17, 9), (193, 200)]


def test_bands_go_down_their_rows_then_on_to_the_next_column():
    kernel = small_kernel(m=4 * 64, n=3 * 8, gpus=2)
    row, column = kernel.tiles
    assert kernel.band == 2
    assert list(zip(row, column, strict=True)) == [
        (0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2),
        (2, 0), (3, 0), (2, 1), (3, 1), (2, 2), (3, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("gpus", [2, 3, 4])
@pytest.mark.parametrize("m,n", [(256, 32), (500, 50), (1000, 200)])
def test_every_tile_is_one_workgroup(m, n, gpus):
    kernel = small_kernel(m=m, n=n, gpus=gpus)
    row, column = kernel.tiles
    grid = -(-m // 64), -(-n // 8)
    assert sorted(zip(row, column, strict=True)) == [tuple(tile) for tile in np.ndindex(grid)]


@pytest.mark.parametrize("gpus", [2, 3, 5, 8, 16])
def test_chunks_are_contiguous_and_as_equal_as_can_be(gpus):
    kernel = small_kernel(gpus=gpus)
    sizes = [kernel.chunk_workgroups(chunk) for chunk in range(gpus)]
    assert kernel.chunk_start[0] == 0
    assert kernel.chunk_start[-1] == kernel.workgroups == sum(sizes)
    assert max(sizes) - min(sizes) <= 1
    for gpu in range(gpus):
        assert kernel.first_workgroup(gpu) == sum(sizes[: (gpu + 1) % gpus])


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
    assert kernel.band == band


def by_hand(kernel):
    """Each element's workgroup, wavefront and atom; unique, with the edges cut off."""
    row, column = np.indices((kernel.m, kernel.n))
    workgroup = np.empty((kernel.grid_m, kernel.grid_n), np.int64)
    workgroup[kernel.tiles] = np.arange(kernel.workgroups)
    in_row, in_column = row % kernel.tile_m, column % kernel.tile_n
    wave_m = in_row // (kernel.tile_m // kernel.waves_m)
    wave_n = in_column // (kernel.tile_n // kernel.waves_n)
    if kernel.column_major:
        atom = column * -(-kernel.m // ELEMENTS) + row // ELEMENTS
        wave = wave_n * kernel.waves_m + wave_m
    else:
        atom = row * -(-kernel.n // ELEMENTS) + column // ELEMENTS
        wave = wave_m * kernel.waves_n + wave_n
    owner = workgroup[row // kernel.tile_m, column // kernel.tile_n]
    found = np.stack([owner, atom + OUTPUT_ATOM, wave], axis=-1).reshape(-1, 3)
    return np.unique(found, axis=0)


def shaped(m, n, column_major):
    if column_major:
        return small_kernel(m=m, n=n, tile_n=8, waves_n=2)
    return small_kernel(m=n, n=m, tile_m=8, tile_n=64, waves_m=2, column_major=False)


@pytest.mark.parametrize("column_major", [True, False])
@pytest.mark.parametrize("m,n", SIZES)
@pytest.mark.parametrize("channels,channel_bits", [(1, 0), (1, 2), (3, 2), (8, 3), (1, 5)])
def test_output_atoms_are_those_of_every_element(m, n, column_major, channels, channel_bits):
    kernel = shaped(m, n, column_major)
    output_atoms = kernel.output_atoms(channels, OFFSET_BITS, 1 << channel_bits)
    whole = by_hand(kernel)
    channel = np.array([channel_by_hand(atom, channel_bits) for atom in whole[:, 1]])
    kept = whole[channel < channels]
    owner = np.repeat(np.arange(kernel.workgroups), np.diff(output_atoms.start))
    assert np.array_equal(np.stack([owner, output_atoms.atom, output_atoms.wave], axis=-1), kept)
    assert np.array_equal(output_atoms.channel, channel[channel < channels])
    for w in range(kernel.workgroups):
        for v in range(kernel.waves):
            mine = kept[(kept[:, 0] == w) & (kept[:, 2] == v), 1]
            assert output_atoms.per_wave[w, v] == len(mine)
            everywhere = whole[(whole[:, 0] == w) & (whole[:, 2] == v), 1]
            first, start = (mine[0], everywhere[0]) if len(mine) else (-1, -1)
            assert (output_atoms.wave_first[w, v], output_atoms.wave_start[w, v]) == (first, start)


@pytest.mark.parametrize("column_major", [True, False])
@pytest.mark.parametrize("m,n", SIZES)
def test_live_wavefronts_have_something_to_write(m, n, column_major):
    kernel = shaped(m, n, column_major)
    per_wave = kernel.output_atoms(1, OFFSET_BITS, 0).per_wave
    _, _, _, outer_edge, inner_edge = kernel.walk
    live = [kernel.live_waves(r, e) for r, e in zip(outer_edge, inner_edge, strict=True)]
    assert live == (per_wave > 0).sum(axis=1).tolist()


def test_edges_are_the_remainders():
    kernel = small_kernel(m=3 * 64 + 17, n=2 * 8 + 3)
    assert (
        kernel.inner_extent,
        kernel.inner_extent_edge,
        kernel.outer_extent,
        kernel.outer_extent_edge,
    ) == (4, 2, 8, 3)
    assert (kernel.stride, kernel.outer_total) == (14, 19)
    whole = small_kernel()
    assert (whole.inner_extent_edge, whole.outer_extent_edge) == (
        whole.inner_extent,
        whole.outer_extent,
    )


def test_steps_and_flops_round_up_and_do_not():
    kernel = small_kernel(k=50)
    assert kernel.steps == 4
    assert kernel.flops == 2 * 256 * 32 * 50
    assert kernel.output_bytes == 256 * 32 * 2


@pytest.mark.parametrize(
    "m,n,gpus,most",
    [
        *[(256, 32, 2, 1), (250, 31, 4, 1), (128, 64, 8, 1), (384, 24, 3, 1)],
        *[(192, 24, 2, 5), (600, 50, 3, 5), (600, 90, 7, 5), (2000, 31, 5, 5)],
    ],
)
@pytest.mark.parametrize("column_major", [True, False])
def test_chunk_rectangles_cover_the_chunk_once(m, n, gpus, most, column_major):
    kernel = small_kernel(m=m, n=n, gpus=gpus)
    if not column_major:
        kernel = small_kernel(
            m=m, n=n, gpus=gpus, tile_n=16, waves_m=1, workgroup_mapping=8, column_major=False
        )
    whole = by_hand(kernel)
    for chunk in range(gpus):
        first, end = kernel.chunk_start[chunk : chunk + 2]
        mine = whole[(whole[:, 0] >= first) & (whole[:, 0] < end), 1]
        rectangles = kernel.chunk_rectangles(chunk)
        walked = [
            start + r * kernel.stride + o
            for start, rows, run in rectangles
            for r in range(rows)
            for o in range(run)
        ]
        assert sorted(walked) == sorted(mine)
        assert len(rectangles) <= most


@pytest.mark.parametrize(
    "changes,message",
    [
        ({"tile_m": 40}, "a wavefront's inner extent of 20 elements must be a multiple of 16"),
        ({"tile_m": 96}, "a power of two atoms where wavefronts share a row, not 3"),
        ({"tile_m": 48, "waves_m": 3}, "kernel.waves_m must be 1, 2 or 4, not 3"),
        ({"waves_n": 8}, "kernel.waves_n must be 1, 2 or 4, not 8"),
        ({"m": 64, "gpus": 5}, "4 workgroups .* into 5 chunks; allowed: tp up to 4, or a larger"),
        ({"m": 1, "n": 1, "gpus": 2}, "1 workgroups cannot .* 2 chunks; allowed: a larger matrix"),
    ],
)
def test_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small_kernel(**changes)


def test_largest_output_is_allowed():
    kernel = small_kernel(m=1 << 15, n=1 << 14)
    assert kernel.output_bytes == 1 << 30


def test_run_of_one_wavefront_need_not_be_a_power_of_two():
    assert small_kernel(tile_m=48, waves_m=1, m=96).wave_inner_extent == 3


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
    assert kernel.cut == cut
    if cut is None:
        return
    assert kernel.uniform
    row, column = kernel.tiles
    height, width = tiles[0] // cut[0], tiles[1] // cut[1]
    for chunk in range(gpus):
        members = slice(*kernel.chunk_start[chunk : chunk + 2])
        assert len(set(row[members])) == height and len(set(column[members])) == width
        assert np.ptp(row[members]) == height - 1 and np.ptp(column[members]) == width - 1
        assert len(kernel.chunk_rectangles(chunk)) == 1


def test_a_cut_through_the_ragged_edge_is_avoided():
    # Both cuts are possible; only that of the rows makes equal chunks.
    kernel = small_kernel(m=64 * 4, n=8 * 64 - 3, gpus=4)
    assert kernel.cut == (4, 1)
    assert kernel.uniform
    assert not small_kernel(m=64 * 3, n=8 * 64 - 3, gpus=4).uniform
