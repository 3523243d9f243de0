from dataclasses import replace

import numpy as np
import pytest

from sysmodel.gpu.atoms import ELEMENTS
from sysmodel.gpu.geometry.placement import MOST_OUTPUT_ATOMS, OUTPUT_ATOM, Placement
from sysmodel.gpu.kernel import Kernel
from tests.support.small_kernel import OFFSET_BITS, channel_by_hand, small_kernel

SIZES = [(256, 32), (250, 31), (64, 41), (17, 9), (193, 200)]


def by_hand(kernel):
    """Each element's workgroup, wavefront and atom; unique, with the edges cut off."""
    tiling = kernel.tiling
    row, column = np.indices((tiling.m, tiling.n))
    workgroup = np.empty((tiling.grid_m, tiling.grid_n), np.int64)
    workgroup[kernel.chunks.tiles] = np.arange(kernel.workgroups)
    in_row, in_column = row % tiling.tile_m, column % tiling.tile_n
    wave_m = in_row // (tiling.tile_m // tiling.waves_m)
    wave_n = in_column // (tiling.tile_n // tiling.waves_n)
    if kernel.layout.column_major:
        atom = column * -(-tiling.m // ELEMENTS) + row // ELEMENTS
        wave = wave_n * tiling.waves_m + wave_m
    else:
        atom = row * -(-tiling.n // ELEMENTS) + column // ELEMENTS
        wave = wave_m * tiling.waves_n + wave_n
    owner = workgroup[row // tiling.tile_m, column // tiling.tile_n]
    found = np.stack([owner, atom + kernel.placement.output_atom, wave], axis=-1).reshape(-1, 3)
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
    edges = zip(kernel.walk.outer_edge, kernel.walk.inner_edge, strict=True)
    live = [kernel.layout.live_waves(r, e) for r, e in edges]
    assert live == (per_wave > 0).sum(axis=1).tolist()
    edges = zip(kernel.walk.outer_edge, kernel.walk.inner_edge, strict=True)
    ending = [kernel.layout.ending_waves(r, e) for r, e in edges]
    assert ending == [1 + np.flatnonzero(one)[-1] for one in per_wave]


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
    whole, sizes = by_hand(kernel), kernel.chunk_atoms
    for chunk in range(gpus):
        first, end = kernel.chunks.start[chunk : chunk + 2]
        mine = whole[(whole[:, 0] >= first) & (whole[:, 0] < end), 1]
        rectangles = kernel.chunk_rectangles(chunk)
        walked = [
            start + r * kernel.layout.stride + o
            for start, rows, run in rectangles
            for r in range(rows)
            for o in range(run)
        ]
        assert sorted(walked) == sorted(mine)
        assert len(rectangles) <= most
        assert sizes[chunk] == len(walked)


def test_another_place_moves_every_atom_and_nothing_else():
    kernel = small_kernel(m=250, n=31, gpus=3)
    there = replace(kernel, placement=Placement(output_atom=OUTPUT_ATOM + 999))
    assert np.array_equal(there.walk.first, kernel.walk.first + 999)
    assert all(map(np.array_equal, there.walk[1:], kernel.walk[1:]))
    assert there.output_end == kernel.output_end + 999
    moved = [(first + 999, *of) for first, *of in kernel.chunk_rectangles(1)]
    assert there.chunk_rectangles(1) == moved
    assert np.array_equal(there.chunk_atoms, kernel.chunk_atoms)


def test_largest_output_is_mapped():
    kernel = small_kernel(m=1 << 15, n=1 << 14)
    assert kernel.output_bytes == 1 << 30
    assert kernel.output_end - kernel.output_atom == MOST_OUTPUT_ATOMS
    assert kernel.is_mapped
    assert not kernel.resized(n=(1 << 14) + 1).is_mapped


@pytest.mark.parametrize("column_major,side", [(True, "n"), (False, "m")])
def test_a_slice_has_fewer_rows_of_contiguous_elements(column_major, side):
    kernel = small_kernel(waves_m=1, tile_n=16, column_major=column_major)
    part = kernel.slice(20)
    assert part == kernel.resized(**{side: 20})
    assert (part.layout.outer_total, part.layout.stride) == (20, kernel.layout.stride)
    assert part.chunks.tiling == part.layout.tiling == part.tiling


def test_parts_of_different_tilings_are_refused():
    with pytest.raises(ValueError, match="the same tiling"):
        Kernel(small_kernel(k=64).layout, small_kernel(k=128).chunks)
