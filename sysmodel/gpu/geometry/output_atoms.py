"""Atoms of a GEMM's output in the simulated channels."""

from dataclasses import dataclass

import numpy as np

from sysmodel.lib.compiled import cached_njit
from sysmodel.lib.interleave import channel_of_atom

from .output_layout import OutputLayout, Walk

__all__ = ["OutputAtoms", "find_output_atoms"]


@dataclass(frozen=True)
class OutputAtoms:
    """Output atoms in the simulated channels, workgroup by workgroup.

    Workgroup *w* has the entries ``start[w]`` to ``start[w + 1]`` of ``atom`` (ascending), ``wave``
    and ``channel``. ``per_wave[w, v]`` counts the entries of its wavefront *v*; the smallest atom
    of the wavefront is ``wave_first[w, v]`` in the simulated channels and ``wave_start[w, v]`` in
    all channels (-1 without an atom).
    """

    start: np.ndarray
    atom: np.ndarray
    wave: np.ndarray
    channel: np.ndarray
    per_wave: np.ndarray
    wave_first: np.ndarray
    wave_start: np.ndarray


def find_output_atoms(
    layout: OutputLayout, walk: Walk, *, channels: int, offset_bits: int, system_channels: int
) -> OutputAtoms:
    """Find the atoms of walks in the first ``channels`` channels of the interleave."""
    start, atom, wave, channel = _enumerate(
        walk.first, walk.outer, walk.inner, layout.stride,
        layout.wave_inner_extent, layout.wave_outer_extent, layout.inner_waves,
        channels, offset_bits, system_channels,
    )  # fmt: skip
    shape = workgroups, _ = len(walk.first), layout.tiling.waves
    per_wave = np.zeros(shape, np.int64)
    wave_first = np.full(shape, np.iinfo(np.int64).max)
    tile = np.repeat(np.arange(workgroups), np.diff(start)), wave
    np.add.at(per_wave, tile, 1)
    np.minimum.at(wave_first, tile, atom)
    wave_start = walk.first[:, None] + layout.wave_corners
    none = per_wave == 0
    wave_first[none] = wave_start[none] = -1
    return OutputAtoms(start, atom, wave, channel, per_wave, wave_first, wave_start)


@cached_njit()
def _enumerate(
    first, outer, inner, stride, wave_inner_extent, wave_outer_extent, inner_waves,
    channels, offset_bits, system_channels
):  # fmt: skip
    start = np.zeros(len(first) + 1, np.int64)
    most = 0
    for w in range(len(first)):
        most += outer[w] * inner[w]
    atom = np.empty(most, np.int64)
    wave = np.empty(most, np.int64)
    channel = np.empty(most, np.int64)
    used = 0
    for w in range(len(first)):
        for r in range(outer[w]):
            for o in range(inner[w]):
                a = first[w] + r * stride + o
                c = channel_of_atom(a, offset_bits, system_channels)
                if c < channels:
                    atom[used] = a
                    wave[used] = (r // wave_outer_extent) * inner_waves + o // wave_inner_extent
                    channel[used] = c
                    used += 1
        start[w + 1] = used
    return start, atom[:used].copy(), wave[:used].copy(), channel[:used].copy()
