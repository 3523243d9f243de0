import numpy as np
import pytest

from verification.arithmetic.pairs import BATCH_PAIRS, structured_pairs

SEED = 511
INFINITY = 0xFF


@pytest.fixture(scope="module")
def batch():
    print(f"seed {SEED}")
    return structured_pairs(np.random.default_rng(SEED))


def exponent(bits):
    return (bits >> 23 & 0xFF).astype(int)


def test_a_batch_follows_from_its_seed(batch):
    again = structured_pairs(np.random.default_rng(SEED))
    other = structured_pairs(np.random.default_rng(SEED + 1))
    for side, repeated, changed in zip(batch, again, other, strict=True):
        assert side.dtype == np.uint32 and side.shape == (BATCH_PAIRS,)
        assert np.array_equal(side, repeated)
        assert np.count_nonzero(side == changed) < BATCH_PAIRS / 4


def test_every_difference_of_exponents_either_way(batch):
    a, b = map(exponent, batch)
    finite = (a != INFINITY) & (b != INFINITY)
    assert set((a - b)[finite]) == set(range(-254, 255))


def test_exact_cancellation_and_nearly(batch):
    difference = np.array(batch[0] ^ 0x8000_0000, np.int64) - batch[1]
    assert set(range(-4, 5)) <= set(difference.tolist())
    a, b = (side.view(np.float32) for side in batch)
    assert np.count_nonzero((a == -b) & (a != 0)) > 500


def test_sums_at_and_beside_every_halfway_point(batch):
    """Exact sums of numbers that are not far apart fit a double, whose last 29 bits fp32 lacks."""
    distance = np.abs(exponent(batch[0]) - exponent(batch[1]))
    a, b = (side.view(np.float32) for side in batch)
    with np.errstate(over="ignore", invalid="ignore"):
        total = a.astype(float) + b.astype(float)
        single = np.abs(a + b)
    # Near the middle of the range neither the sum nor its bits are subnormal or infinite.
    exactly = (distance < 26) & (single > 1e-30) & (single < 1e30)
    below = total.view(np.uint64) & np.uint64((1 << 29) - 1)
    odd = total.view(np.uint64) >> np.uint64(29) & np.uint64(1)
    half = below == 1 << 28
    for d in range(1, 25):
        here = exactly & (distance == d)
        assert np.count_nonzero(here & half & (odd == 0)) > 5, d
        assert np.count_nonzero(here & half & (odd == 1)) > 5, d
        beside = (below != 1 << 28) & (np.abs(below.astype(np.int64) - (1 << 28)) <= 1 << 29 - d)
        assert np.count_nonzero(here & beside) > 5, d


def test_subnormals_overflow_and_special_values(batch):
    numbers = [side.view(np.float32) for side in batch]
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers[0] + numbers[1]
    finite = np.isfinite(numbers[0]) & np.isfinite(numbers[1])
    assert np.count_nonzero(finite & np.isinf(total)) > 200
    largest = np.abs(total) == np.finfo(np.float32).max
    assert np.count_nonzero(finite & largest) > 20
    tiny = np.finfo(np.float32).tiny
    subnormal = [(np.abs(x) < tiny) & (x != 0) for x in (*numbers, total)]
    assert np.count_nonzero(np.logical_and.reduce(subnormal)) > 500
    crossed = subnormal[0] & subnormal[1] & (np.abs(total) >= tiny)
    assert np.count_nonzero(crossed) > 200
    for side, number in zip(batch, numbers, strict=True):
        quiet = side >> 22 & 1 == 1
        assert np.count_nonzero(np.isnan(number) & quiet) > 500
        assert np.count_nonzero(np.isnan(number) & ~quiet) > 500
        assert np.count_nonzero(np.isinf(number)) > 500
        assert np.count_nonzero(number == 0) > 500
