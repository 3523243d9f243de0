"""Queues of more than 64 reads or writes, whose slots lie in several masks."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.engine.codes import READ, UPDATE, WRITE
from sysmodel.memory.dram import dram_accepts, dram_push, new_dram
from t3.experiments.dram.patterns import mixed, random_rows
from t3.experiments.dram.serve import fraction_of_peak
from tests.support.dram_harness import BARE, Channel, atom_at, drive

DEEP = replace(BARE, queue_depth=256)
SLOW = replace(DEEP, tRCD_RD=9, tRCD_WR=9, tRP=9, tRAS=20, tRC=30, tRTW=8, tWTR_S=4, tWTR_L=4)


@pytest.mark.parametrize("depth", [65, 128, 129, 256])
def test_a_side_holds_the_whole_queue(depth):
    state = new_dram(replace(DEEP, queue_depth=depth), 1)
    for i in range(depth):
        assert dram_accepts(state, 0, READ)
        dram_push(state, 0, 0, READ, i, i)
    assert not dram_accepts(state, 0, READ) and not dram_accepts(state, 0, WRITE)


@pytest.mark.parametrize("reads,writes", [(256, 256), (100, 256), (256, 40)])
def test_reads_and_writes_of_separate_queues(reads, writes):
    depths = {"queue_depth": reads + writes, "write_queue": writes, "write_high": writes}
    state = new_dram(replace(DEEP, **depths), 1)
    for access, count in ((READ, reads), (WRITE, writes)):
        for i in range(count):
            assert dram_accepts(state, 0, access)
            dram_push(state, 0, 0, access, i, i)
        assert not dram_accepts(state, 0, access)


@pytest.mark.parametrize("access", [READ, WRITE, UPDATE])
def test_requests_to_one_row_are_served_by_age(access):
    atoms = [atom_at(0, 0, i % 64) for i in range(250)]
    tokens, times, _ = drive(DEEP, atoms, access, 4000)
    assert tokens.tolist() == list(range(250))


def test_a_row_hit_at_the_end_of_the_queue_goes_before_all_conflicts():
    channel = Channel(replace(SLOW, age_cap=1 << 40))
    channel.open(0, row=0)
    conflicts = [(READ, row, 0, 0) for row in range(1, 200)]
    *times, hit = channel.issue_times(*conflicts, (READ, 0, 0, 5), cycles=10_000)
    assert hit < min(times) and times == sorted(times)


def test_the_depth_alone_changes_nothing():
    """While no more than 64 requests wait, a deep queue serves them like one of 64."""
    rng = np.random.default_rng(7)
    atoms, accesses = rng.integers(0, 1 << 14, 60), rng.choice([READ, WRITE, UPDATE], 60)
    expected = drive(replace(SLOW, queue_depth=64), atoms, accesses, 5000)[:2]
    for depth in (65, 256):
        found = drive(replace(SLOW, queue_depth=depth), atoms, accesses, 5000)[:2]
        assert all((one == other).all() for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_equal_atoms_stay_in_order(seed):
    """Every read of an atom is served after the older writes of it, in whichever mask they lie."""
    rng = np.random.default_rng(seed)
    atoms, accesses = rng.integers(0, 40, 3000) * 97, rng.choice([READ, WRITE], 3000)
    tokens, _, _ = drive(SLOW, atoms, accesses, 200_000)
    assert sorted(tokens) == list(range(3000))
    for atom in np.unique(atoms):
        of_atom = tokens[atoms[tokens] == atom]
        assert (np.diff(of_atom) > 0).all()


@pytest.mark.parametrize("pattern", [random_rows(READ), mixed(2, 1)])
def test_a_deeper_queue_sees_more_row_hits_and_banks(pattern):
    t = replace(SLOW, banks=4, bank_groups=1, address_map="column:6 bank:2", turnaround_cap=400)
    shares = [fraction_of_peak(t, pattern, queue_depth=d, cycles=60_000) for d in (16, 64, 256)]
    assert shares[0] < 1.02 * shares[1] < 1.05 * shares[2]
