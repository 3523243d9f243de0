import random

import numpy as np
import pytest

from sysmodel.gpu.l2 import L2Parameters, l2_access, l2_fill, new_l2
from sysmodel.gpu.l2_tags import l2_slice

ONE_SET = L2Parameters(slices=1, sets=1, ways=4, mshrs=8, waiters=32)


class Cache:
    """Cache of channel 0, with a memory that answers at once unless a test makes it wait."""

    def __init__(self, parameters: L2Parameters, channels: int = 1):
        self.state = new_l2(parameters, channels)
        self.woken = np.zeros(parameters.waiters, np.int64)

    def access(self, line, sectors=0b1, waiter=0, ch=0):
        return l2_access(self.state, ch, line, sectors, waiter)

    def fill(self, line, sector=0, ch=0):
        count = l2_fill(self.state, ch, 4 * line + sector, self.woken)
        return self.woken[:count].tolist()

    def load(self, line, sectors=0b1):
        """Read a line and fill its missing sectors; return the sectors that hit."""
        hits, misses, _, ok = self.access(line, sectors)
        assert ok
        for sector in range(4):
            if misses >> sector & 1:
                self.fill(line, sector)
        return hits


def test_defaults():
    p = L2Parameters()
    line_bytes = 128
    assert p.slices * 32 * p.sets * p.ways * line_bytes == 16 << 20


@pytest.mark.parametrize(
    "change,error,message",
    [
        ({"sets": 1.0}, TypeError, "sets must be an integer, not 1.0"),
        ({"ways": 0}, ValueError, "ways must be at least 1, not 0"),
        ({"mshrs": 1025}, ValueError, "mshrs must be at most 1024, not 1025"),
        ({"waiters": 4097}, ValueError, "waiters must be at most 4096, not 4097"),
        ({"slices": 0}, ValueError, "slices must be at least 1, not 0"),
        ({"waiters": 3}, ValueError, "waiters must be at least the 4 sectors of a line, not 3"),
    ],
)
def test_refused(change, error, message):
    with pytest.raises(error, match=message):
        L2Parameters(**change)


def test_no_channel_refused():
    with pytest.raises(ValueError, match="channels must be at least 1, not 0"):
        new_l2(L2Parameters(), 0)


def test_miss_then_hit():
    cache = Cache(L2Parameters())
    assert cache.access(77, 0b0110, waiter=5) == (0, 0b0110, 0, True)
    assert cache.fill(77, 1) == [5]
    assert cache.access(77, 0b0010) == (0b0010, 0, 0, True)
    assert cache.fill(77, 2) == [5]
    assert cache.access(77, 0b0110) == (0b0110, 0, 0, True)


def test_sectors_are_filled_one_by_one():
    cache = Cache(ONE_SET)
    cache.load(1, 0b0001)
    assert cache.access(1, 0b1111, waiter=9) == (0b0001, 0b1110, 0, True)
    assert cache.fill(1, 3) == [9]
    assert cache.access(1, 0b1111, waiter=10) == (0b1001, 0, 0b0110, True)
    assert cache.fill(1, 1) == [9, 10]
    assert cache.fill(1, 2) == [9, 10]
    assert cache.access(1, 0b1111) == (0b1111, 0, 0, True)


def test_misses_of_a_sector_merge_in_order():
    cache = Cache(ONE_SET)
    assert cache.access(3, 0b0001, waiter=30) == (0, 0b0001, 0, True)
    assert cache.access(3, 0b0011, waiter=10) == (0, 0b0010, 0b0001, True)
    assert cache.access(3, 0b0011, waiter=20) == (0, 0, 0b0011, True)
    assert cache.fill(3, 0) == [30, 10, 20]
    assert cache.fill(3, 1) == [10, 20]


def test_unrequested_fill():
    cache = Cache(ONE_SET)
    assert cache.fill(3) == []
    cache.access(3, 0b0001)
    assert cache.fill(3, 1) == []
    assert cache.access(3, 0b0010)[0] == 0
    assert cache.fill(3, 0) == [0]
    assert cache.fill(3, 0) == []


def test_full_mshrs_refuse_and_change_nothing():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=4, mshrs=2, waiters=32))
    cache.load(9)
    assert cache.access(1)[3] and cache.access(2)[3]
    before = cache.state.slices.copy()
    assert cache.access(3) == (0, 0, 0, False)
    assert (cache.state.slices == before).all()
    # A line that is being fetched already, and a hit, need no miss register.
    assert cache.access(2, 0b10, waiter=4) == (0, 0b10, 0, True)
    assert cache.access(9) == (1, 0, 0, True)
    cache.fill(1)
    assert cache.access(3) == (0, 1, 0, True)
    assert cache.access(1) == (1, 0, 0, True)


def test_full_waiters_refuse_and_change_nothing():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=4, mshrs=8, waiters=4))
    assert cache.access(1, 0b0111, waiter=1)[3]
    assert cache.access(2, 0b0011, waiter=2) == (0, 0, 0, False)
    assert cache.access(2, 0b0001, waiter=3) == (0, 1, 0, True)
    assert cache.access(1, 0b0001, waiter=4) == (0, 0, 0, False)
    assert cache.fill(1, 0) == [1]
    assert cache.access(1, 0b0010, waiter=5) == (0, 0, 0b0010, True)
    assert cache.fill(1, 1) == [1, 5]


def test_partial_hit_that_is_refused_gives_no_hits():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=4, mshrs=1, waiters=8))
    cache.load(1, 0b0001)
    cache.access(2)
    assert cache.access(1, 0b0011) == (0, 0, 0, False)


def test_least_recently_used_goes():
    cache = Cache(ONE_SET)
    for line in (1, 2, 3, 4):
        assert cache.load(line) == 0
    assert cache.load(1) == 1
    assert cache.load(5) == 0
    assert [cache.access(line)[0] for line in (1, 3, 4, 5)] == [1, 1, 1, 1]
    assert cache.access(2)[0] == 0


def test_line_evicted_between_two_fills_comes_back_without_its_first_sector():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=1, mshrs=8, waiters=32))
    cache.access(1, 0b0011)
    cache.fill(1, 0)
    cache.load(2)
    assert cache.fill(1, 1) == [0]
    assert cache.access(1, 0b0011)[:2] == (0b0010, 0b0001)


def test_channels_and_slices_are_separate():
    p = L2Parameters(slices=2, sets=1, ways=1, mshrs=1, waiters=4)
    cache = Cache(p, channels=3)
    lines = {l2_slice(cache.state, 0, line): line for line in range(2)}
    assert set(lines) == {0, 1}
    for ch in range(3):
        for line in lines.values():
            assert cache.access(line, ch=ch) == (0, 1, 0, True)
    for ch in range(3):
        for line in lines.values():
            assert cache.fill(line, ch=ch) == [0]
            assert cache.access(line, ch=ch)[0] == 1


@pytest.mark.parametrize("stride", [1, 2, 128, 256, 1 << 12])
@pytest.mark.parametrize("sets", [128, 100])
def test_no_stride_keeps_to_few_sets(sets, stride):
    """A number of lines equal to the number of sets occupies a large share of the sets."""
    p = L2Parameters(sets=sets, ways=1)
    cache = Cache(p)
    lines = [i * stride for i in range(p.slices * p.sets)]
    for line in lines:
        cache.load(line)
    left = sum(cache.access(line)[0] for line in lines)
    assert left >= len(lines) // 2


def test_contiguous_lines_of_the_capacity_all_stay():
    p = L2Parameters()
    cache = Cache(p)
    lines = range(5 << 12, (5 << 12) + p.slices * p.sets * p.ways)
    for line in lines:
        cache.load(line, 0b1111)
    assert all(cache.access(line, 0b1111)[0] == 0b1111 for line in lines)


class Reference:
    """Model of the cache in plain dictionaries."""

    def __init__(self, parameters, slice_of, set_of):
        self.p = parameters
        self.slice_of, self.set_of = slice_of, set_of
        self.sets = {}  # (slice, set) -> {line: sectors}, least recently used first
        self.pending = {}  # slice -> {line: {sector: [waiters]}}

    def access(self, line, sectors, waiter):
        where = self.slice_of(line)
        lines = self.sets.setdefault(self.set_of(line), {})
        pending = self.pending.setdefault(where, {})
        hits = lines.get(line, 0) & sectors
        missing = [s for s in range(4) if (sectors & ~hits) >> s & 1]
        waiting = sum(len(w) for sector in pending.values() for w in sector.values())
        if missing and (
            waiting + len(missing) > self.p.waiters
            or (line not in pending and len(pending) == self.p.mshrs)
        ):
            return 0, 0, 0, False
        merged = 0
        for s in missing:
            queue = pending.setdefault(line, {}).setdefault(s, [])
            merged |= (len(queue) > 0) << s
            queue.append(waiter)
        if line in lines:
            lines[line] = lines.pop(line)
        return hits, sectors & ~hits & ~merged, merged, True

    def fill(self, line, sector):
        pending = self.pending[self.slice_of(line)]
        woken = pending[line].pop(sector)
        if not pending[line]:
            del pending[line]
        lines = self.sets.setdefault(self.set_of(line), {})
        if line not in lines:
            if len(lines) == self.p.ways:
                del lines[next(iter(lines))]
            lines[line] = 0
        lines[line] |= 1 << sector
        return woken


@pytest.mark.parametrize(
    "p",
    [
        L2Parameters(slices=1, sets=1, ways=2, mshrs=3, waiters=6),
        L2Parameters(slices=2, sets=4, ways=3, mshrs=6, waiters=20),
        L2Parameters(slices=4, sets=16, ways=4, mshrs=40, waiters=40),
        L2Parameters(slices=2, sets=12, ways=2, mshrs=6, waiters=20),
        L2Parameters(slices=1, sets=5, ways=2, mshrs=6, waiters=20),
        L2Parameters(slices=3, sets=5, ways=2, mshrs=6, waiters=20),
        L2Parameters(slices=6, sets=4, ways=2, mshrs=6, waiters=20),
    ],
    ids=["tiny", "small", "four-slices", "twelve-sets", "five-sets", "three-slices", "six-slices"],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_random_against_reference(p, seed):
    print("seed", seed)
    generator = random.Random(seed)
    cache = Cache(p)
    even = p.sets & -p.sets
    power = p.slices & -p.slices
    set_bits, slice_bits = even.bit_length() - 1, power.bit_length() - 1
    odd = p.slices // power

    def fold(value, bits):
        digits = 0
        while bits and value:
            digits ^= value & ((1 << bits) - 1)
            value >>= bits
        return digits

    reference = Reference(
        p,
        lambda line: (line % odd, fold(line // odd, slice_bits)),
        lambda line: (
            line % odd,
            fold(line // odd, slice_bits),
            fold((line // odd >> slice_bits) // (p.sets // even), set_bits),
            (line // odd >> slice_bits) % (p.sets // even),
        ),
    )
    # Lines 256 apart share an MSHR bucket.
    lines = [256 * i + j for i in range(4) for j in range(2 * p.ways * p.sets)]
    in_memory = []
    refused = 0
    counters = [0, 0, 0]
    for step in range(8000):
        if in_memory and generator.random() < 0.5:
            line, sector = in_memory.pop(generator.randrange(len(in_memory)))
            assert cache.fill(line, sector) == reference.fill(line, sector)
        else:
            line, sectors = generator.choice(lines), generator.randrange(1, 16)
            result = cache.access(line, sectors, step)
            assert result == reference.access(line, sectors, step)
            in_memory += [(line, s) for s in range(4) if result[1] >> s & 1]
            refused += not result[3]
            for i in range(3):
                counters[i] += result[i].bit_count()
    assert refused
    for line, sector in in_memory:
        assert cache.fill(line, sector) == reference.fill(line, sector)
    assert all(counters)
    slices = cache.state.slices
    assert [slices[name].sum() for name in ("hits", "misses", "merges")] == counters
