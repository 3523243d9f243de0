"""Collectives in files of their own: the hardware runs them without a change, bit for bit."""

import sys

import numpy as np
import pytest

from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import no_progress
from sysmodel.runs.check import check, launches_of
from sysmodel.runs.check_options import CheckOptions
from sysmodel.runs.data_launch import DataLaunch
from sysmodel.runs.data_reference import error_bound

# The first half of the ranks sends to the second half, which sends the sums to the owner.
SOURCE = '''"""Halves: half of the ranks send to the other half, and those to the chunk's owner."""

from sysmodel.collectives.algorithm import Algorithm
from sysmodel.collectives.costs import reduced
from sysmodel.collectives.schedule import Chunk, Flow, Stage


def _reduce_scatter(group):
    ranks, half = group.ranks, group.ranks // 2
    flows = []
    for distance in range(1, ranks):
        passes = distance + half < ranks
        to = ranks - half if distance <= half and passes else distance
        flows.append(Flow(Chunk(distance), arrivals=int(distance > half), to=(to,)))
    own = Flow(Chunk(0), arrivals=ranks - ranks // 2 - ranks % 2, keeps=True)
    return (Stage(reduces=True, flows=(*flows, own)),)


ALGORITHM = Algorithm(
    name="halves",
    summary="half of the ranks send to the other half, and those to the owner",
    stages={"reduce-scatter": _reduce_scatter},
    costs={"reduce-scatter": lambda group: reduced(group.ranks, group.ranks - 1, 2)},
)
'''


@pytest.fixture(autouse=True)
def one_file(tmp_path, monkeypatch):
    (tmp_path / "halves.py").write_text(SOURCE)
    (tmp_path / "others.py").write_text(OTHERS)
    package = sys.modules["sysmodel.collectives"]
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    yield
    for name in ("halves", "others"):
        sys.modules.pop(f"sysmodel.collectives.{name}", None)
    tracked_schedule.cache_clear()


def exact(options):
    """Run the check's launch on integers, whose sums are exact in any order; compare every bit."""
    (works,), system = launches_of(options)
    for work in works:
        work.products[...] = np.clip(np.rint(work.products), -8, 8)
    with DataLaunch(
        system,
        works,
        engine=options.engine,
        channels=options.channels,
        tracked=options.tracked,
        link_stall=options.back_pressure / 100,
    ) as launch:
        launch.begin(skew_cycles=options.skew)
        launch.finish()
        return launch.compare(0)


# A ring the other way round, and an exchange in which all send to the rank before them first.
OTHERS = '''"""Others: an all-gather upwards, and an all-to-all that begins with the rank behind."""

from sysmodel.collectives.algorithm import Algorithm
from sysmodel.collectives.costs import Costs
from sysmodel.collectives.schedule import Chunk, Flow, Stage


def _all_gather(group):
    ranks = group.ranks
    flows = (
        Flow(
            Chunk(-passed % ranks),
            own=not passed,
            arrivals=int(passed > 0),
            to=(1,) if passed < ranks - 1 else (),
            keeps=True,
        )
        for passed in range(ranks)
    )
    return (Stage(reduces=False, flows=tuple(flows)),)


def _all_to_all(group):
    ranks = group.ranks
    sent = (Flow(Chunk(owner, source=0), to=(owner,)) for owner in range(1, ranks))
    own = Flow(Chunk(0, source=0), keeps=True)
    received = (
        Flow(Chunk(0, source=source), own=False, arrivals=1, keeps=True)
        for source in range(1, ranks)
    )
    return (Stage(reduces=False, flows=(*sent, own, *received)),)


def _costs(group):
    n = group.ranks - 1
    return Costs(sent=n, received=n, read=n, written=n, messages=n, steps=n)


ALGORITHM = Algorithm(
    name="others",
    summary="an all-gather upwards, and an all-to-all",
    stages={"all-gather": _all_gather, "all-to-all": _all_to_all},
    costs={"all-gather": _costs, "all-to-all": _costs},
)
'''


CASES = [
    {"gpus": 2, "m": 128, "n": 192, "granularity": "wavefront"},
    {"gpus": 3, "m": 256, "n": 288, "topology": "switch", "skew": 20_000},
    {"gpus": 5, "m": 400, "n": 333, "topology": "fully-connected", "back_pressure": 50},
    {"gpus": 8, "m": 256, "n": 576, "topology": "switch", "dtype": "bf16"},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_bit_on_the_golden_engine(case):
    assert exact(CheckOptions(collective="halves", k=16, engine="golden", **case)) == (0, ())


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("operation", ["all-gather", "all-to-all"])
def test_other_operations_on_the_golden_engine(operation, case):
    options = CheckOptions(collective="others", operation=operation, k=16, engine="golden", **case)
    result = check(options, no_progress)
    assert result.passed, (result.errors, result.first_mismatches)


@pytest.mark.verify
def test_every_bit_on_the_rtl():
    one = {"gpus": 4, "m": 256, "n": 192, "k": 16, "channels": 1, "topology": "switch"}
    assert exact(CheckOptions(collective="halves", engine="rtl", **one)) == (0, ())


def test_random_values_are_within_the_bound():
    options = CheckOptions(
        collective="halves", gpus=5, m=400, n=333, k=16, topology="switch", engine="golden"
    )
    assert not options.tracked.has_fixed_sums
    assert check(options, no_progress).passed


@pytest.mark.parametrize("gpus", [3, 8])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_free_order_is_within_its_bound(gpus, dtype):
    options = {"gpus": gpus, "m": 400, "n": 576, "k": 16, "dtype": dtype, "engine": "golden"}
    free = CheckOptions(collective="direct", free_order=True, topology="switch", **options)
    assert check(free, no_progress).passed


def test_the_bound_finds_a_lost_contribution(monkeypatch):
    """A sum without one GPU's product is beyond the bound almost everywhere."""

    def without_one(products):
        return error_bound(products[1:])

    def of_the_others(products):
        return products[1:].astype(np.float64).sum(axis=0)

    monkeypatch.setattr("sysmodel.runs.data_launch.error_bound", without_one)
    monkeypatch.setattr("sysmodel.runs.data_launch.exact_sum", of_the_others)
    result = check(
        CheckOptions(
            collective="direct", free_order=True, gpus=3, m=256, n=288, k=16, engine="golden"
        ),
        no_progress,
    )
    assert not result.passed and result.mismatches > result.elements // 2


def test_a_fixed_order_is_not_free():
    with pytest.raises(InputError, match="free_order: True is not allowed with ring"):
        CheckOptions(free_order=True)
