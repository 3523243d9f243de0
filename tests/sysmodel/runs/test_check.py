"""Data mode: random problems through the hardware, every bit against NumPy."""

import numpy as np
import pytest

from sysmodel.config.system import GRANULARITIES
from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import no_progress
from sysmodel.runs.check import check, reference
from sysmodel.runs.check_options import CheckOptions

TILE_M, TILE_N = 128, 96


def random_options(seed: int, engine: str, channels: int | None = None) -> CheckOptions:
    random = np.random.default_rng(seed)
    while True:
        gpus = int(random.integers(2, 9))
        m, n = int(random.integers(1, 700)), int(random.integers(1, 600))
        if -(-m // TILE_M) * -(-n // TILE_N) >= gpus:
            break
    return CheckOptions(
        gpus=gpus,
        m=m,
        n=n,
        k=int(random.integers(1, 130)),
        dtype=str(random.choice(["fp16", "bf16"])),
        engine=engine,
        channels=channels or int(random.choice([1, 2, 4])),
        skew=int(random.choice([0, 100, 5000, 40000])),
        back_pressure=int(random.choice([0, 30, 80])),
        granularity=str(random.choice(GRANULARITIES)),
        seed=seed,
    )


def require_pass(options: CheckOptions) -> None:
    print(options)
    result = check(options, no_progress)
    assert result.passed, (result.errors, result.first_mismatches)
    assert result.elements == options.m * options.n


@pytest.mark.parametrize("seed", range(10))
def test_random_problems_on_the_golden_engine(seed):
    require_pass(random_options(seed, "golden"))


@pytest.mark.parametrize("seed", range(100, 106))
def test_random_problems_on_the_rtl(seed):
    require_pass(random_options(seed, "rtl", channels=2))


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_many_random_problems(seed):
    require_pass(random_options(seed, "rtl" if seed % 2 else "golden"))


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
    sums = reference(products, 0x7E00)
    # GPU 0's chunk: GPU 2, then GPU 1, then GPU 0; GPU 1's: GPU 0, 2, 1; GPU 2's: GPU 1, 0, 2.
    assert sums.ravel().tolist() == [2050, 2048, 2048]


def test_a_wrong_bit_is_found(monkeypatch):
    """The comparison can fail: one element of one partial product is changed behind its back."""
    import sysmodel.runs.check as module

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
    with pytest.raises(InputError, match="workgroups cannot be cut into 8 chunks"):
        check(CheckOptions(gpus=8, m=128, n=96), no_progress)
