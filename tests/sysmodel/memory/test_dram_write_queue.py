"""Writes that are held back and drained."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.engine.codes import READ, UPDATE, WRITE
from sysmodel.memory.dram import dram_accepts
from tests.support.dram_harness import BARE, GPGPUSIM_V100, Channel, drive

# 12 reads and 8 writes; a drain takes 4.
TIMING = replace(BARE, queue_depth=20, write_queue=8, write_high=6, write_low=2)
OTHER_BANK = 1


def _order(channel):
    """Tokens in the order of their issue."""
    return sorted(channel.issued, key=channel.issued.get)


@pytest.fixture
def channel():
    """Row 0 of two banks is open, so that nothing but the side served decides."""
    channel = Channel(TIMING)
    channel.open(0, OTHER_BANK)
    return channel


@pytest.mark.parametrize("access", [WRITE, UPDATE])
def test_writes_wait_for_the_last_read(channel, access):
    writes = [channel.push(access, 0, OTHER_BANK, i) for i in range(TIMING.write_high - 1)]
    reads = [channel.push(READ, 0, 0, i) for i in range(10)]
    channel.run(100)
    assert _order(channel) == [*reads, *writes]


@pytest.mark.parametrize("access", [WRITE, UPDATE])
def test_drain_is_between_the_marks(channel, access):
    reads = [channel.push(READ, 0, 0, i) for i in range(10)]
    writes = [channel.push(access, 0, OTHER_BANK, i) for i in range(TIMING.write_high)]
    channel.run(100)
    drained = TIMING.write_high - TIMING.write_low
    assert _order(channel) == [*writes[:drained], *reads, *writes[drained:]]


def test_writes_go_at_once_if_no_read_waits(channel):
    assert channel.issue_times((WRITE, 0, 0, 0), (WRITE, 0, 0, 1)) == [0, 1]


def test_drain_waits_while_no_write_may_be_issued(channel):
    """Acknowledgements may need reads before there is space for them."""
    writes = [channel.push(WRITE, 0, OTHER_BANK, i) for i in range(8)]
    reads = [channel.push(READ, 0, 0, i) for i in range(4)]
    channel.run(50, allow_update=False)
    assert _order(channel) == reads
    channel.run(50)
    assert _order(channel) == reads + writes


def test_only_the_side_served_keeps_a_row_open(channel):
    """Reads of an open row wait; a drain closes it and they have to open it again."""
    before = int(channel.state.channel["activate_count"][0])
    writes = [channel.push(WRITE, 1, 0, i) for i in range(TIMING.write_high)]
    reads = [channel.push(READ, 0, 0, i) for i in range(8)]
    channel.run(200)
    drained = TIMING.write_high - TIMING.write_low
    assert _order(channel) == [*writes[:drained], *reads, *writes[drained:]]
    assert int(channel.state.channel["activate_count"][0]) - before == 3


def test_held_back_requests_open_no_row(channel):
    before = int(channel.state.channel["activate_count"][0])
    channel.push(WRITE, 0, 5)
    for i in range(12):
        channel.push(READ, 0, 0, i)
    channel.run(12)
    assert int(channel.state.channel["activate_count"][0]) == before
    channel.run(20)
    assert int(channel.state.channel["activate_count"][0]) == before + 1


def test_read_of_an_atom_that_a_held_write_has_sees_it(channel):
    write = channel.push(WRITE, 0, 0, 3)
    reads = [channel.push(READ, 0, 0, i) for i in range(8)]
    channel.run(100)
    order = _order(channel)
    assert order == [*(r for i, r in enumerate(reads) if i != 3), write, reads[3]]


def test_a_write_is_held_back_no_longer_than_the_age_cap():
    channel = Channel(replace(TIMING, age_cap=40))
    channel.open(0, OTHER_BANK)
    start = channel.now
    write = channel.push(WRITE, 0, OTHER_BANK, 0)
    for i in range(200):
        if dram_accepts(channel.state, 0, READ):
            channel.push(READ, 0, 0, i & 63)
        channel.run(1)
    assert 40 <= channel.issued[write] - start < 44
    never = Channel(replace(TIMING, age_cap=10_000))
    never.open(0, OTHER_BANK)
    write = never.push(WRITE, 0, OTHER_BANK, 0)
    for i in range(200):
        if dram_accepts(never.state, 0, READ):
            never.push(READ, 0, 0, i & 63)
        never.run(1)
    assert write not in never.issued


def test_each_direction_has_its_own_space():
    channel = Channel(TIMING)

    def accepted():
        return [dram_accepts(channel.state, 0, access) for access in (READ, WRITE, UPDATE)]

    for i in range(8):
        assert accepted() == [True, True, True]
        channel.push(UPDATE if i & 1 else WRITE, 0, 0, i)
    assert accepted() == [True, False, False]
    for i in range(12):
        assert accepted() == [True, False, False]
        channel.push(READ, 0, 1, i)
    assert accepted() == [False, False, False]
    channel.run(100)
    assert accepted() == [True, True, True]
    one_queue = Channel(replace(BARE, queue_depth=4))
    for i in range(4):
        assert dram_accepts(one_queue.state, 0, READ) and dram_accepts(one_queue.state, 0, WRITE)
        one_queue.push(READ, 0, 0, i)
    assert not dram_accepts(one_queue.state, 0, READ) and not dram_accepts(
        one_queue.state, 0, WRITE
    )


def test_one_direction_alone_is_not_slower():
    """With the same number of slots, a write queue changes nothing if there are only writes."""
    atoms = np.random.default_rng(4).integers(0, 1 << 14, 4000)
    one = replace(GPGPUSIM_V100, queue_depth=32)
    two = replace(one, queue_depth=33, write_queue=32, write_high=32)
    for access in (WRITE, UPDATE):
        times = [drive(timing, atoms, access, 200_000)[1] for timing in (one, two)]
        assert len(times[0]) == len(atoms) and np.array_equal(*times)
