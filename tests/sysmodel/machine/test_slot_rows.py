"""Workgroups whose tiles the slots of a launch name."""

import random

import numpy as np
import pytest

from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.gpu.geometry.split_k import split_kernel
from sysmodel.machine.slot_rows import sender_rows, slot_rows
from tests.support.small_kernel import small_kernel

OPERATIONS = [
    ("ring", "reduce-scatter"),
    ("ring", "all-gather"),
    ("ring", "all-reduce"),
    ("direct", "reduce-scatter"),
    ("direct", "all-gather"),
    ("direct", "all-to-all"),
]


@pytest.mark.parametrize(("name", "operation"), OPERATIONS)
@pytest.mark.parametrize("gpus", [2, 3, 5, 8])
def test_a_tile_has_the_same_place_at_its_sender_and_its_receiver(name, operation, gpus):
    """The slot of a tile at the receiver names the workgroup with the same part of the output."""
    seed = gpus
    print("seed", seed)
    kernel = kernel_of(random.Random(seed), gpus)
    tracked = tracked_schedule(name, gpus, operation)
    rows = slot_rows([kernel], gpus, tracked)[:, 0]
    sent = 0
    for gpu in range(gpus):
        launch = tracked.map(kernel.chunks.sizes, gpu)
        first = 0
        for one in launch.ranges:
            # Arrivals of an ordered sum have slots in front of the kernel's, which send nothing.
            begin = max(first, launch.base) if tracked.ordered else first
            here = np.arange(begin, first + one.workgroups)
            first += one.workgroups
            tiles = made_or_arrived(launch, kernel, rows[gpu], here)
            for peer in one.to:
                assert (rows[peer, here + one.slot_offset] == tiles).all()
                sent += len(here)
    assert sent >= kernel.workgroups


@pytest.mark.parametrize(("name", "operation"), OPERATIONS)
def test_dispatch_indices_name_the_workgroups_in_their_order(name, operation):
    """The kernel makes the chunks in turn, from the one that its map names first on."""
    gpus = 5
    kernel = kernel_of(random.Random(1), gpus)
    tracked = tracked_schedule(name, gpus, operation)
    if tracked.ordered:
        pytest.skip("slots of dispatch indices whose stores leave name arrivals")
    rows = slot_rows([kernel], gpus, tracked)[:, 0]
    for gpu in range(gpus):
        launch = tracked.map(kernel.chunks.sizes, gpu)
        made = np.arange(launch.base, launch.dispatch_end)
        assert (rows[gpu, made] == made_or_arrived(launch, kernel, rows[gpu], made)).all()


def test_splits_of_a_tile_are_workgroups_of_their_own():
    kernel = split_kernel(small_kernel(gpus=4), 3)
    rows = slot_rows([kernel], 4, tracked_schedule("ring", 4, splits=3))[0, 0]
    assert sorted(rows) == list(range(kernel.workgroups))


def test_the_sender_of_a_ring_has_the_tile_one_chunk_further():
    """GPU 0 stands for all: it sends for a slot the tile of its own slot one chunk before."""
    gpus = 4
    kernel = small_kernel(gpus=gpus)
    tracked = tracked_schedule("ring", gpus)
    rows = slot_rows([kernel], 1, tracked)[0, 0]
    chunk = kernel.workgroups // gpus
    sent = sender_rows(tracked.map(kernel.chunks.sizes, 0), rows)
    assert (sent[chunk:] == rows[:-chunk]).all() and (sent[:chunk] == -1).all()


def test_kernels_behind_the_first_one_have_rows_behind_its_rows():
    first, second = small_kernel(), small_kernel(m=128)
    rows = slot_rows([first, second], 2, tracked_schedule("ring", 2))
    alone = slot_rows([second], 2, tracked_schedule("ring", 2))
    slots = alone.shape[2]
    assert (rows[:, 1, :slots] == first.workgroups + alone[:, 0]).all()


def made_or_arrived(launch, kernel, rows, slots):
    """Workgroups whose tiles leave: those at the dispatch indices, chunk by chunk from the first
    one of the map on, or those that have arrived."""
    first = kernel.chunks.start[launch.first_chunk]
    made = (launch.base <= slots) & (slots < launch.dispatch_end)
    return np.where(made, (slots - launch.base + first) % kernel.workgroups, rows[slots])


def kernel_of(rng, gpus):
    """Kernel whose chunks may differ by a workgroup."""
    return small_kernel(gpus=gpus, m=64 * rng.randint(2, 5), n=8 * rng.randint(4, 7))
