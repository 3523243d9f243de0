"""Data mode: random problems through the hardware, every bit against NumPy."""

import numpy as np
import pytest

from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.collectives.schedule import Chunk
from sysmodel.config.granularity import GRANULARITIES
from sysmodel.config.system import load_system
from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import no_progress
from sysmodel.runs.check import check
from sysmodel.runs.check_options import CheckOptions
from sysmodel.runs.data_reference import reference
from tests.support.random_problem import random_check
from tests.support.small_system import scaled


def require_pass(options: CheckOptions) -> None:
    print(options)
    result = check(options, no_progress)
    assert result.passed, (result.errors, result.first_mismatches)
    assert result.elements == options.m * options.n


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.verify) for seed in range(4, 10))]
)
def test_random_problems_on_the_golden_engine(seed):
    require_pass(random_check(seed, "golden"))


@pytest.mark.parametrize("seed", range(100, 104))
def test_random_problems_on_the_rtl(seed):
    # With one channel, because more take long to build.
    require_pass(random_check(seed, "rtl", channels=1))


@pytest.fixture
def narrow_window(monkeypatch):
    """The system with a tracker's window of two workgroups."""
    system = scaled(load_system(), t3={"credit_window_workgroups": 2})
    monkeypatch.setattr("sysmodel.runs.check.load_system", lambda: system)


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize(
    "gpus,skew,engine",
    [
        pytest.param(2, 5000, "rtl", marks=pytest.mark.verify),
        (2, 5000, "golden"),
        (3, 0, "golden"),
        pytest.param(8, 40000, "golden", marks=pytest.mark.verify),
    ],
)
def test_output_beyond_the_window_is_reduced_slice_by_slice(
    narrow_window, granularity, gpus, skew, engine
):
    options = CheckOptions(
        gpus=gpus, m=384, n=761, k=40, granularity=granularity, engine=engine, skew=skew
    )
    result = check(options, no_progress)
    assert result.passed, (result.errors, result.first_mismatches)
    assert result.elements == 384 * 761
    # 3 x 8 macro-tiles, of which a GPU takes at most two at a time.
    assert result.launches >= 24 // (2 * gpus)


def test_a_bit_error_in_a_later_slice_is_located(narrow_window, monkeypatch):
    def one_off(*arguments):
        sums = reference(*arguments)
        sums[0][Chunk(0)].view(np.uint16)[5, 7] ^= 1
        return sums

    monkeypatch.setattr("sysmodel.runs.data_launch.reference", one_off)
    result = check(CheckOptions(gpus=2, m=256, n=384, k=8, engine="golden"), no_progress)
    assert not result.passed and result.launches == 2
    assert {(one.row, one.column) for one in result.first_mismatches} == {(5, 7), (5, 192 + 7)}


@pytest.mark.parametrize("m,n,k", [(1 << 20, 1 << 17, 64), (4096, 4096, 1 << 20)])
def test_a_problem_too_large_for_memory_is_refused(m, n, k, monkeypatch):
    monkeypatch.setattr("sysmodel.runs.check_options._memory_bytes", lambda: 24_000_000_000)
    with pytest.raises(InputError, match=r"take about .* GB; allowed: the 24\.0 GB"):
        CheckOptions(m=m, n=n, k=k)


def test_models_own_widths_are_taken():
    for n in (4256, 12288, 16384):
        CheckOptions(m=8192, n=n, k=64)


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_many_random_problems(seed):
    require_pass(random_check(seed, "rtl" if seed % 2 else "golden"))


@pytest.mark.parametrize(
    "options",
    [
        {"gpus": 2, "m": 128, "n": 192},  # one workgroup a chunk
        {"gpus": 8, "m": 1, "n": 768},  # tiles of one row
        {"gpus": 5, "m": 400, "n": 333},  # edges both ways, chunks of unequal size
        {"gpus": 3, "m": 512, "n": 384, "skew": 100_000},  # neighbours finish before one starts
        {"gpus": 4, "m": 512, "n": 384, "back_pressure": 95},
    ],
)
def test_corners(options):
    require_pass(CheckOptions(engine="golden", k=64, **options))


def test_reference_rounds_in_ring_order():
    # 2048 + 1 rounds back to 2048 in fp16, so the order shows.
    products = np.array([2048, 1, 1], np.float16).reshape(3, 1, 1)
    sums = reference(products, 0x7E00, tracked_schedule("ring", len(products)).schedule)
    # GPU 0's chunk: GPU 2, then GPU 1, then GPU 0; GPU 1's: GPU 0, 2, 1; GPU 2's: GPU 1, 0, 2.
    assert [one[Chunk(g)].item() for g, one in enumerate(sums)] == [2050, 2048, 2048]


def test_a_bit_error_is_found(monkeypatch):
    """The comparison can fail: it detects a changed element of one partial product."""
    import sysmodel.runs.data_launch as module

    words = module._words
    calls = []

    def spoiled(kernel, matrix):
        calls.append(1)
        if len(calls) == 1:
            matrix = matrix.copy()
            matrix[3, 5] += 1
        return words(kernel, matrix)

    monkeypatch.setattr(module, "_words", spoiled)
    result = check(CheckOptions(engine="golden", gpus=2, m=128, n=192, k=64), no_progress)
    assert not result.passed
    assert result.mismatches == 1
    assert (result.first_mismatches[0].row, result.first_mismatches[0].column) == (3, 5)


def test_too_small_a_matrix_is_refused():
    with pytest.raises(InputError, match="1 workgroup cannot be cut into 8 chunks"):
        check(CheckOptions(gpus=8, m=128, n=96), no_progress)
