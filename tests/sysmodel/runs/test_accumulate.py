"""Data mode with a launch that accumulates: it adds to what the memory holds, whatever its epochs,
every bit against NumPy.
"""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.collectives.schedule import Chunk
from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import no_progress
from sysmodel.runs import data_launch
from sysmodel.runs.check import check, launches_of
from sysmodel.runs.check_options import CheckOptions
from sysmodel.runs.data_launch import DTYPES, DataLaunch
from sysmodel.runs.data_reference import reference

EPOCHS = 256
ENGINES = ["golden", pytest.param("rtl", marks=pytest.mark.verify)]


def options_of(collective="direct", **options):
    return CheckOptions(
        **{"collective": collective, "accumulate": True, "gpus": 3, "m": 256, "n": 288, "k": 16}
        | {"engine": "golden"}
        | options
    )


@pytest.fixture
def random_tags(monkeypatch):
    """Random tags of the memory before a launch; return the numbers of those of its own epoch, and
    of others."""
    seen = {"own": 0, "others": 0}
    begin = DataLaunch.begin

    def begin_upon_tags(launch, **options):
        epoch = launch.machine.state.epoch
        epoch[...] = np.random.default_rng(7).integers(0, EPOCHS, epoch.shape)
        seen["own"] += int((epoch == 1).sum())
        seen["others"] += int((epoch != 1).sum())
        begin(launch, **options)

    monkeypatch.setattr(DataLaunch, "begin", begin_upon_tags)
    return seen


def by_hand(before, products, nan):
    """Return the sums of each GPU's own chunk, on top of its own memory: (gpus, m, n).

    The contributions to a chunk come in the ring's order, the owner's last.
    """
    gpus, sums = len(products), np.array(before)
    with np.errstate(over="ignore", invalid="ignore"):
        for owner in range(gpus):
            for step in range(1, gpus + 1):
                sums[owner] = products[(owner - step) % gpus] + sums[owner]
    sums.view(np.uint16)[np.isnan(sums)] = nan
    return sums


def test_the_reference_adds_to_the_memory_first():
    options = options_of(gpus=5, m=400)
    (works,), _ = launches_of(options)
    (work,) = works
    _, nan = DTYPES[work.dtype]
    found = reference(work.products, nan, options.tracked.schedule, work.memory)
    expected = by_hand(work.memory, work.products, nan)
    for g, kept in enumerate(found):
        assert (kept[Chunk(g)].view(np.uint16) == expected[g].view(np.uint16)).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_add_to_the_memory(random_tags, engine, dtype):
    result = check(options_of(engine=engine, dtype=dtype), no_progress)
    assert result.passed, (result.errors, result.first_mismatches)
    assert random_tags["own"] and random_tags["others"]


@pytest.mark.parametrize(
    "options",
    [
        {"gpus": 2, "m": 128, "n": 192, "granularity": "wavefront"},
        {"gpus": 5, "m": 400, "n": 333, "topology": "fully-connected", "skew": 20_000},
        {"gpus": 8, "m": 256, "n": 576, "topology": "switch", "back_pressure": 50},
        {"gpus": 3, "contexts": 2, "topology": "switch"},
    ],
    ids=str,
)
def test_corners(random_tags, options):
    result = check(options_of(**options), no_progress)
    assert result.passed, (result.errors, result.first_mismatches)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("gpus", [3, 7])
def test_a_ring_adds_gradients_in_any_order(random_tags, engine, gpus):
    """Own and arriving contribution come in any order, and the memory is a third term: random
    values are within the bound, and integers exact. Sums pass memories that hold zeros."""
    options = options_of("ring", gpus=gpus, m=128 * gpus, engine=engine)
    assert not options.tracked.has_fixed_sums
    result = check(options, no_progress)
    assert result.passed, (result.errors, result.first_mismatches)
    (works,), system = launches_of(options)
    works = [replace(work, memory=np.rint(work.memory)) for work in works]
    for work in works:
        work.products[...] = np.clip(np.rint(work.products), -8, 8)
    with DataLaunch(
        system, works, engine=engine, channels=options.channels, tracked=options.tracked
    ) as launch:
        launch.begin()
        launch.finish()
        assert launch.compare(0) == (0, ())


def test_without_the_bit_the_memory_is_replaced(random_tags, monkeypatch):
    original = data_launch.map_writes

    def without(kernel, system, gpu, tracked, **options):
        return original(kernel, system, gpu, replace(tracked, accumulate=False), **options)

    monkeypatch.setattr(data_launch, "map_writes", without)
    result = check(options_of(), no_progress)
    assert not result.passed and result.mismatches > 1000


@pytest.mark.parametrize("operation", ["all-gather", "all-to-all"])
def test_only_sums_accumulate(operation):
    with pytest.raises(InputError, match="accumulate: True is not allowed with all-"):
        options_of(operation=operation)
