"""Data mode with a direct reduce-scatter: slots of contributions, and every bit against NumPy."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.collectives.schedule import Chunk
from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import no_progress
from sysmodel.machine.program import map_writes
from sysmodel.runs.check import check
from sysmodel.runs.check_options import CheckOptions
from sysmodel.runs.data_reference import reference
from tests.support.random_problem import random_check
from tests.support.recorded_ranges import recorded_ranges
from tests.support.small_kernel import small_kernel
from tests.support.small_system import small_system

SEEDS = range(20)


def mapped(sizes, gpu):
    return tracked_schedule("direct", len(sizes)).map(sizes, gpu)


def contributions(sizes):
    """Slots that each GPU gives its contribution to each owner's chunk, from the dispatch indices
    of its own chunk, which are the last ones.

    Of the others, the GPU behind the owner is the first to contribute, as in a ring.
    """
    gpus = len(sizes)
    for owner, size in enumerate(sizes):
        first = mapped(sizes, owner).first_slot
        senders = [(owner - distance) % gpus for distance in range(1, gpus + 1)]
        assert senders[-1] == owner
        yield (
            owner,
            {
                sender: range(first + place * size, first + (place + 1) * size)
                for place, sender in enumerate(senders)
            },
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_slots_of_unequal_chunks(seed):
    """The slots of all contributions to a chunk end with the owner's own dispatch indices; no slot
    and no dispatch index is negative, and indices are no higher than that needs."""
    print("seed", seed)
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 20, random.integers(3, 9)).tolist()
    maps = [mapped(sizes, gpu) for gpu in range(len(sizes))]
    first = [one.first_slot for one in maps]
    (base,) = {one.base for one in maps}  # all GPUs have the same dispatch indices
    end = base + sum(sizes)
    assert base >= 0 and min(first) >= 0 and (base == 0 or min(first) == 0)
    for owner, slots in contributions(sizes):
        assert slots[owner] == range(end - sizes[owner], end)
        together = sorted(slot for one in slots.values() for slot in one)
        assert together == list(range(first[owner], end))


@pytest.mark.parametrize("gpus", [3, 4, 5, 7])
def test_the_program_gives_these_slots(gpus):
    """Each dispatch index is in one range, which sends its tile to the owner's slot for it."""
    kernel = small_kernel(gpus=gpus, m=64 * 5, n=8 * 3)
    sizes, total = kernel.chunks.sizes, kernel.workgroups
    base = mapped(sizes, 0).base
    slots = dict(contributions(list(sizes)))
    for gpu in range(gpus):
        writes = map_writes(
            kernel, small_system(), gpu, tracked_schedule("direct", gpus), address_space=1
        )
        ranges, values = recorded_ranges(writes)
        index = base
        for owner in [(gpu + 1 + step) % gpus for step in range(gpus)]:
            expected = slots[owner][gpu]
            mine = [one for one in ranges if one["first"] <= index <= one["last"]]
            for place, slot in enumerate(expected):
                (entry,) = mine
                assert entry["first"] <= index + place <= entry["last"]
                if owner == gpu:
                    assert entry["action"] == "OWN" and index + place == slot
                else:
                    peer = (owner - gpu - 1) % gpus
                    assert (entry["action"], entry["peers"]) == ("REMOTE", 1 << peer)
                    assert index + place + entry["slot_offset"] == slot
                assert entry["shares"] == 1
            index += sizes[owner]
        assert index == base + total == values["WORKGROUPS"] == values["TRACKED_END"]
        # Each slot that a tile arrives in is in a range that tracks it.
        assert values["TRACKED_FIRST"] == min(slot for one in slots[gpu].values() for slot in one)
        ends = sorted((one["first"], one["last"]) for one in ranges)
        assert ends[0][0] == 0 and ends[-1][1] == index - 1
        assert all(last + 1 == first for (_, last), (first, _) in pairwise(ends))
        # A window of at most a chunk adds the contributions to a tile one after the other.
        assert values["CREDIT_WINDOW"] <= sizes[gpu]


def require_pass(options):
    print(options)
    result = check(options, no_progress)
    assert result.passed, (result.errors, result.first_mismatches)
    assert result.elements == options.contexts * options.m * options.n


@pytest.mark.parametrize(
    "options",
    [
        {"gpus": 2, "m": 128, "n": 192, "granularity": "wavefront"},
        {"gpus": 3, "m": 256, "n": 288, "topology": "switch", "skew": 20_000},
        {"gpus": 5, "m": 400, "n": 333, "topology": "fully-connected"},
        {"gpus": 5, "m": 400, "n": 190, "granularity": "wavefront", "back_pressure": 80},
        {"gpus": 8, "m": 1, "n": 768, "topology": "fully-connected", "skew": 3000},
        {"gpus": 8, "m": 256, "n": 576, "topology": "switch", "granularity": "wavefront"},
        {"gpus": 3, "m": 256, "n": 288, "contexts": 2, "back_pressure": 30},
        {"gpus": 5, "m": 260, "n": 290, "contexts": 2, "topology": "switch", "dtype": "bf16"},
    ],
    ids=str,
)
def test_corners(options):
    require_pass(CheckOptions(collective="direct", engine="golden", k=16, **options))


def random_options(seed, engine):
    drawn = random_check(seed, engine, channels=1 if engine == "rtl" else None)
    topology = ("ring", "switch", "fully-connected")[seed % 3]
    return replace(drawn, collective="direct", topology=topology)


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(3000, 3020))
def test_random_problems_on_the_golden_engine(seed):
    require_pass(random_options(seed, "golden"))


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(3100, 3103))
def test_random_problems_on_the_rtl(seed):
    require_pass(random_options(seed, "rtl"))


def test_a_bit_error_is_found(monkeypatch):
    def one_off(*arguments):
        sums = reference(*arguments)
        sums[0][Chunk(0)].view(np.uint16)[5, 7] ^= 1
        return sums

    monkeypatch.setattr("sysmodel.runs.data_launch.reference", one_off)
    options = CheckOptions(collective="direct", engine="golden", gpus=2, m=128, n=192, k=8)
    result = check(options, no_progress)
    assert not result.passed and result.mismatches == 1
    assert (result.first_mismatches[0].row, result.first_mismatches[0].column) == (5, 7)


def test_an_unknown_collective_is_refused():
    with pytest.raises(InputError, match="collective"):
        CheckOptions(collective="tree")
