import random

import numpy as np
import pytest

from sysmodel.gpu.l2 import L2Parameters, l2_access, l2_fill, l2_holds, new_l2
from sysmodel.gpu.l2_write import (
    begin_flush,
    l2_drain,
    l2_flush,
    l2_keep,
    l2_write,
    next_write_back,
    pop_write_back,
)

SPACE = 64


class Cache:
    def __init__(self, parameters: L2Parameters, channels: int = 1):
        self.state = new_l2(parameters, channels)
        self.woken = np.zeros(parameters.waiters, np.int64)

    def write(self, line, sectors, ch=0, space=SPACE):
        return l2_write(self.state, ch, line, sectors, space)

    def load(self, line, sectors, ch=0):
        """Read, fill the missing sectors, and return the sectors that hit."""
        hits, misses, _, ok = l2_access(self.state, ch, line, sectors, 0)
        assert ok
        for sector in range(4):
            if misses >> sector & 1:
                l2_fill(self.state, ch, 4 * line + sector, self.woken)
        return hits

    def drain(self, ch=0):
        atoms = []
        while self.state.channels[ch]["write_backs"]:
            atoms.append(int(next_write_back(self.state, ch)))
            pop_write_back(self.state, ch)
        return atoms

    def flush(self, ch=0):
        atoms = []
        while not l2_flush(self.state, ch, SPACE):
            atoms += self.drain(ch)
        return atoms


def test_written_sector_is_read_from_the_cache():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=2))
    assert cache.write(5, 0b0110)
    assert cache.load(5, 0b1111) == 0b0110
    assert cache.drain() == []


def test_kept_sector_is_held_and_is_never_written_back():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=2))
    assert not l2_keep(cache.state, 0, 4 * 5 + 1, SPACE)
    assert [l2_holds(cache.state, 0, 20 + sector) for sector in range(4)] == [0, 1, 0, 0]
    assert cache.flush() == []


def test_kept_sector_replaces_a_dirty_one():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=2))
    cache.write(5, 0b0110)
    assert l2_keep(cache.state, 0, 4 * 5 + 1, SPACE)
    assert not l2_keep(cache.state, 0, 4 * 5 + 1, SPACE)
    assert cache.flush() == [4 * 5 + 2]


def test_sector_is_not_kept_without_space_for_what_it_may_evict():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=1))
    cache.write(5, 0b1111)
    assert not l2_keep(cache.state, 0, 4 * 6, 3)
    assert l2_holds(cache.state, 0, 4 * 5)
    assert not l2_holds(cache.state, 0, 4 * 6)


def test_held_sectors_are_reported_one_by_one():
    cache = Cache(L2Parameters(slices=2, sets=4, ways=2))
    cache.write(5, 0b0110)
    assert [l2_holds(cache.state, 0, 20 + sector) for sector in range(4)] == [0, 1, 1, 0]
    assert not l2_holds(cache.state, 0, 24)


def test_eviction_writes_the_dirty_sectors_back_once():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=2))
    cache.write(1, 0b1010)
    cache.load(1, 0b0001)  # clean
    cache.write(2, 0b0001)
    cache.load(3, 0b0001)  # evicts line 1, the least recently used
    assert cache.drain() == [4 * 1 + 1, 4 * 1 + 3]
    assert cache.flush() == [4 * 2]
    assert cache.flush() == []


def test_write_waits_while_the_queue_is_full():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=1))
    assert cache.write(1, 0b1111, space=4)
    assert cache.write(2, 0b1111, space=4)  # evicts line 1: the queue is full
    assert not cache.write(3, 0b0001, space=4)
    assert cache.load(3, 0b0001) == 0  # nothing happened
    assert cache.drain() == [4, 5, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("slices,sets,ways", [(1, 1, 1), (1, 4, 2), (2, 2, 4), (4, 8, 3)])
def test_every_written_sector_reaches_the_memory_once(slices, sets, ways):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    cache = Cache(L2Parameters(slices=slices, sets=sets, ways=ways), channels=2)
    written = {ch: set() for ch in (0, 1)}
    seen: dict[int, list[int]] = {0: [], 1: []}
    lines = list(range(64))
    for _ in range(400):
        ch, line = rng.randrange(2), rng.choice(lines)
        sectors = rng.randrange(1, 16)
        if rng.random() < 0.4:
            cache.load(line, sectors, ch)
        else:
            # A kernel stores each sector of its output once.
            new = sum(1 << i for i in range(4) if 4 * line + i not in written[ch])
            if new & sectors and cache.write(line, new & sectors, ch):
                written[ch] |= {4 * line + i for i in range(4) if new & sectors & 1 << i}
        if rng.random() < 0.3:
            seen[ch] += cache.drain(ch)
    for ch in (0, 1):
        seen[ch] += cache.drain(ch) + cache.flush(ch)
        assert sorted(seen[ch]) == sorted(written[ch])


def test_a_flush_does_not_wait_for_later_write_backs():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=1))
    cache.write(1, 0b0001)
    assert not l2_flush(cache.state, 0, SPACE)
    cache.write(2, 0b1111)
    cache.write(3, 0b0001)  # evicts line 2
    pop_write_back(cache.state, 0)
    assert l2_flush(cache.state, 0, SPACE)
    assert cache.drain() == [8, 9, 10, 11]


def test_a_flush_that_begins_anew_writes_what_is_dirty_by_then():
    cache = Cache(L2Parameters(slices=1, sets=2, ways=2))
    cache.write(1, 0b0001)
    assert cache.flush() == [4]
    cache.write(2, 0b0001)
    assert cache.flush() == []  # the flush has ended
    begin_flush(cache.state, 0)
    assert cache.flush() == [8]


def test_a_drain_waits_for_what_waited_at_its_first_call():
    cache = Cache(L2Parameters(slices=1, sets=1, ways=1))
    assert l2_drain(cache.state, 0)
    begin_flush(cache.state, 0)
    cache.write(1, 0b0011)
    cache.write(2, 0b0001)  # evicts line 1
    assert not l2_drain(cache.state, 0)
    cache.write(3, 0b0001)  # evicts line 2
    pop_write_back(cache.state, 0)
    assert not l2_drain(cache.state, 0)
    pop_write_back(cache.state, 0)
    assert l2_drain(cache.state, 0)
    assert cache.drain() == [8]
