"""Data mode with all-gathers, all-reduces, all-to-alls and sends, every bit against NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.collectives.launch_map import LaunchMap, TrackedSchedule
from sysmodel.collectives.schedule import Chunk
from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import no_progress
from sysmodel.runs.check import check, launches_of
from sysmodel.runs.check_options import CheckOptions
from sysmodel.runs.data_launch import DataLaunch
from sysmodel.runs.data_reference import reference
from tests.support.random_problem import random_check

OPERATIONS = {
    "ring-all-gather": ("ring", "all-gather"),
    "direct-all-gather": ("direct", "all-gather"),
    "ring-all-reduce": ("ring", "all-reduce"),
    "direct-all-to-all": ("direct", "all-to-all"),
    "ring-all-to-all": ("ring", "all-to-all"),
    "send": ("send", "send"),
}
CORNERS = [
    {"gpus": 2, "m": 128, "n": 192, "granularity": "wavefront"},
    {"gpus": 3, "m": 256, "n": 288, "topology": "switch", "skew": 20_000},
    {"gpus": 5, "m": 400, "n": 333, "topology": "fully-connected", "back_pressure": 50},
    {"gpus": 7, "m": 400, "n": 190, "granularity": "wavefront", "dtype": "bf16"},
    {"gpus": 8, "m": 1, "n": 768, "topology": "switch", "skew": 3000},
]


def options_of(name, **options):
    collective, operation = OPERATIONS[name]
    return CheckOptions(collective=collective, operation=operation, **options)


def require_pass(options):
    print(options)
    result = check(options, no_progress)
    assert result.passed, (result.errors, result.first_mismatches)
    if not options.uneven:
        # Each GPU keeps as many elements as an output has, of itself or of others.
        assert result.elements == options.contexts * options.gpus * options.m * options.n
    return result


@pytest.mark.parametrize("corner", CORNERS, ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_corners(name, corner):
    require_pass(options_of(name, engine="golden", k=16, **corner))


@pytest.mark.parametrize("name", [one for one in OPERATIONS if "all-to-all" not in one])
def test_two_contexts(name):
    options = {"gpus": 3, "m": 256, "n": 288, "k": 16, "contexts": 2, "back_pressure": 30}
    require_pass(options_of(name, engine="golden", **options))


@pytest.mark.parametrize("granularity", ["workgroup", "wavefront"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["direct-all-to-all", "ring-all-to-all"])
def test_uneven_parts(name, granularity, seed):
    """GPUs send each other different numbers of atoms, also none."""
    options = options_of(
        name, engine="golden", gpus=4, m=400, n=333, k=16, uneven=True, seed=seed,
        granularity=granularity, topology="switch",
    )  # fmt: skip
    (works,), _ = launches_of(options)
    stored, chunks = works[0].stored_atoms, works[0].kernel.chunks
    of_chunks = np.add.reduceat(stored, chunks.start[:-1], axis=1)
    assert (of_chunks == 0).any() and len(np.unique(of_chunks)) > 4
    assert require_pass(options).elements > 0


def test_atoms_that_are_not_sent_do_not_change():
    options = options_of(
        "direct-all-to-all", engine="golden", gpus=3, m=256, n=288, k=16, uneven=True, seed=5
    )
    (works,), system = launches_of(options)
    with DataLaunch(
        system, works, engine="golden", channels=options.channels, tracked=options.tracked
    ) as launch:
        before = launch.machine.state.stored.copy()
        launch.begin()
        launch.finish()
        changed = (launch.machine.state.stored != before).any(axis=2)
        assert launch.compare(0) == (0, ())
    # Sent atoms change as many atoms of other GPUs; the own chunk changes its own.
    assert changed.sum() == works[0].stored_atoms.sum()


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(5000, 5006))
@pytest.mark.parametrize("name", OPERATIONS)
def test_random_problems_on_the_golden_engine(name, seed):
    drawn = random_check(seed, "golden")
    topology = ("ring", "switch", "fully-connected")[seed % 3]
    collective, operation = OPERATIONS[name]
    uneven = operation == "all-to-all" and bool(seed % 2)
    require_pass(
        replace(drawn, collective=collective, operation=operation, topology=topology, uneven=uneven)
    )


SMALL = {"m": 256, "n": 192, "k": 16, "channels": 1, "engine": "rtl"}


@pytest.mark.verify
@pytest.mark.parametrize("granularity", ["workgroup", "wavefront"])
@pytest.mark.parametrize("gpus", [2, 3])
@pytest.mark.parametrize("name", OPERATIONS)
def test_on_the_rtl(name, gpus, granularity):
    options = {"gpus": gpus, "granularity": granularity, "topology": "switch", "back_pressure": 30}
    require_pass(options_of(name, **SMALL | options))


@pytest.mark.verify
@pytest.mark.parametrize("name", ["direct-all-to-all", "ring-all-to-all"])
def test_uneven_parts_on_the_rtl(name):
    require_pass(options_of(name, **SMALL, gpus=3, uneven=True, seed=2, topology="switch"))


@pytest.mark.parametrize("splits", [2, 3])
@pytest.mark.parametrize("name", ["ring-all-gather", "direct-all-to-all"])
def test_splits_add_up_in_turn(name, splits):
    """The splits of a tile are added one after the other, so that every bit is as expected."""
    options = {"gpus": 3, "m": 512, "n": 384, "k": 50, "split_k": splits, "topology": "switch"}
    require_pass(options_of(name, engine="golden", **options))


@pytest.mark.parametrize("operation", ["reduce-scatter", "all-reduce"])
def test_sums_of_splits_are_within_the_bound(operation):
    """Arrivals come in any order with the last split. Sums of integers are exact."""
    options = CheckOptions(
        operation=operation, gpus=3, m=512, n=384, k=50, split_k=3, engine="golden"
    )
    assert not options.tracked.has_fixed_sums
    result = check(options, no_progress)
    assert result.passed, (result.errors, result.first_mismatches)
    (works,), system = launches_of(options)
    splits = np.clip(np.rint(works[0].splits), -8, 8)
    works = [replace(works[0], splits=splits, products=splits.sum(axis=0).astype(splits.dtype))]
    with DataLaunch(
        system, works, engine="golden", channels=options.channels, tracked=options.tracked
    ) as launch:
        launch.begin()
        launch.finish()
        assert launch.compare(0) == (0, ())


@pytest.mark.verify
@pytest.mark.parametrize("operation", ["reduce-scatter", "all-gather"])
def test_splits_on_the_rtl(operation):
    result = check(CheckOptions(operation=operation, gpus=2, split_k=2, **SMALL), no_progress)
    assert result.passed, (result.errors, result.first_mismatches)


def test_slices():
    """An output beyond the tracker's window is gathered slice by slice."""
    options = options_of("ring-all-gather", engine="golden", gpus=2, m=1, n=96 * 1100, k=8)
    assert require_pass(options).launches > 1


@pytest.mark.parametrize("name", ["ring-all-gather", "ring-all-reduce", "direct-all-to-all"])
def test_a_wrong_slot_is_reported(name, monkeypatch):
    """Two tiles in one slot: the tracker reports an overrun, or the launch never ends."""
    original = TrackedSchedule.map

    def shifted(tracked, sizes, rank):
        found: LaunchMap = original(tracked, sizes, rank)
        at = next(n for n, each in enumerate(found.ranges) if each.to)
        wrong = replace(found.ranges[at], slot_offset=found.ranges[at].slot_offset + 1)
        if rank != 1:
            return found
        return replace(found, ranges=(*found.ranges[:at], wrong, *found.ranges[at + 1 :]))

    options = options_of(name, engine="golden", gpus=3, m=256, n=288, k=16)
    monkeypatch.setattr(TrackedSchedule, "map", shifted)
    monkeypatch.setattr(
        "sysmodel.machine.credits.widest_window", lambda given, most, commands: most
    )
    monkeypatch.setattr("sysmodel.machine.watchdog.STILL_CYCLES", 20_000)
    result = check(options, no_progress)
    assert not result.passed and result.errors


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_bit_error_is_found(name, monkeypatch):
    def one_off(*arguments):
        kept = reference(*arguments)
        chunk = list(kept[1])[-1]
        kept[1][chunk][...] = -kept[1][chunk]
        return kept

    monkeypatch.setattr("sysmodel.runs.data_launch.reference", one_off)
    options = options_of(name, engine="golden", gpus=2, m=128, n=192, k=8)
    result = check(options, no_progress)
    assert not result.passed and result.mismatches > 1000
    assert {one.gpu for one in result.first_mismatches} == {1}


def test_sources_of_an_exchange():
    """A rank's own chunk comes from its output, those of others from their places."""
    tracked = options_of("direct-all-to-all", gpus=3).tracked
    assert tracked.places == 4
    assert [tracked.place_of(Chunk(1, source), 1) for source in range(3)] == [1, 0, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operation": "send"}, "ring has no 'send'; allowed: reduce-scatter"),
        ({"collective": "send", "operation": "all-gather"}, "send has no 'all-gather'"),
        ({"collective": "direct", "operation": "all-reduce"}, "direct: tiles go to several ranks"),
        ({"operation": "broadcast"}, "operation: 'broadcast' is not allowed; allowed: reduce-sc"),
        ({"uneven": True}, "uneven: True is not allowed; allowed: with an all-to-all"),
        ({"operation": "all-to-all", "contexts": 2}, "contexts: 2 is not allowed with an all-to"),
        ({"operation": "all-gather", "free_order": True}, "free_order: True is not allowed"),
        ({"split_k": 2, "contexts": 2}, "contexts: 2 is not allowed with an all-to-all or splits"),
        ({"split_k": 3, "k": 2}, "split_k: 3 is not allowed; allowed: up to 2"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(InputError, match=message):
        CheckOptions(**options)
