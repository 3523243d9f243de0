"""Bandwidth, and long random traffic."""

import random
from dataclasses import replace

import numpy as np
import pytest
from numba import njit

from sysmodel.engine.codes import READ, UPDATE, WRITE
from sysmodel.lib.interleave import channel_of_atom, local_of_atom
from sysmodel.memory.dram import (
    dram_accepts,
    dram_level,
    dram_place,
    dram_push,
    dram_step,
    new_dram,
)
from t3.experiments.dram.serve import without_refresh
from t3.experiments.validation.timings import RAMULATOR_HBM2, with_ramulator_queues
from tests.support.dram_harness import BARE, DRAMSIM3_HBM2, GPGPUSIM_V100, atom_at, drive, rate


@pytest.mark.parametrize("access", [READ, WRITE])
def test_sequential_is_peak(access):
    assert rate(GPGPUSIM_V100, np.arange(1 << 16), access) > 0.999


@pytest.mark.parametrize("channels", [5, 24, 40, 160])
def test_sequential_is_peak_over_any_number_of_channels(channels):
    """A stream of blocks gives all channels equally many, and each of them in ascending order."""
    blocks = 512 * channels
    lists: list[list[int]] = [[] for _ in range(channels)]
    for atom in range(8 * blocks):
        local = local_of_atom(atom, 3, channels)
        lists[channel_of_atom(atom, 3, channels)].append(local)
    assert {len(one) for one in lists} == {8 * 512}
    for one in (lists[0], lists[channels // 2], lists[-1]):
        assert rate(GPGPUSIM_V100, np.array(one), READ) > 0.99


def _same_group(groups):
    """Row hits that go round the first banks of some groups."""
    return [atom_at(0, i % groups, i // groups % 64) for i in range(64 * groups)]


@pytest.mark.parametrize("groups,expected", [(1, 1 / 4), (2, 2 / 4), (4, 1)])
def test_update_rate_by_bank_groups(groups, expected):
    timing = replace(GPGPUSIM_V100, tRTW=15)
    assert timing.tCCD_WL == 4
    assert rate(timing, _same_group(groups), UPDATE) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("groups,expected", [(1, 1 / 2), (2, 1)])
def test_write_rate_by_bank_groups(groups, expected):
    assert rate(GPGPUSIM_V100, _same_group(groups), WRITE) == pytest.approx(expected, rel=2e-3)


def test_random_rows_are_bound_by_activates():
    generator = np.random.default_rng(3)
    atoms = generator.integers(0, 1 << 28, 1 << 15)
    assert rate(GPGPUSIM_V100, atoms, READ) == pytest.approx(1 / 4, rel=0.01)
    assert rate(without_refresh(DRAMSIM3_HBM2), atoms, READ) == pytest.approx(4 / 30, rel=0.01)


# Random traffic.


def _traffic(seed, count, atoms):
    """Runs of neighbours among `atoms` places, of random kinds."""
    generator = np.random.default_rng(seed)
    print("seed", seed)
    starts = generator.integers(0, atoms, count // 4)
    where = (starts[:, None] + np.arange(4)).ravel() * generator.choice([1, 16, 1024])
    return where, generator.integers(0, 3, count)


# 24 reads and 40 writes; requests starve.
WRITE_QUEUE = {"write_queue": 40, "write_high": 30, "write_low": 4}

TIMINGS = {
    "bare": BARE,
    "v100": GPGPUSIM_V100,
    "hbm2": replace(DRAMSIM3_HBM2, age_cap=500),
    "per-bank": replace(DRAMSIM3_HBM2, refresh="per-bank", tREFI=16 * 128, tRFC_pb=120),
    "pseudo-channel": replace(RAMULATOR_HBM2, pseudo_channels=1),
    "write-queue": replace(DRAMSIM3_HBM2, **WRITE_QUEUE, age_cap=500),
    "ramulator": with_ramulator_queues(replace(RAMULATOR_HBM2, pseudo_channels=1), 32, 32),
    "small": replace(
        GPGPUSIM_V100,
        banks=4,
        bank_groups=2,
        columns=16,
        queue_depth=5,
        address_map="column:3 group:1 column:1 bank:1",
    ),
}


@pytest.mark.parametrize("seed,places", [(1, 20), (2, 3000), (3, 1 << 20)])
@pytest.mark.parametrize("name", TIMINGS)
def test_random_traffic(name, seed, places):
    timing = TIMINGS[name]
    atoms, accesses = _traffic(seed, 6000, places)
    tokens, times, state = drive(timing, atoms, accesses, 400_000, blocked=seed)
    assert sorted(tokens) == list(range(len(atoms)))
    assert dram_level(state, 0) == 0
    leftovers = ("valid", "updates", "hits", "blocked", "opened", "busy", "left", "starving")
    assert not any(state.channel[0][mask].any() for mask in leftovers)
    last = {}
    for token in tokens:
        assert last.get(atoms[token], -1) < token
        last[atoms[token]] = token
    _audit(timing, state, tokens, times, atoms, accesses)
    for token, time in zip(tokens, times, strict=True):
        assert accesses[token] == READ or time & 15 >= seed


def _audit(timing, state, tokens, times, atoms, accesses):
    """Check the issued commands against every rule between two column commands, one by one."""
    t = timing
    data = {READ: t.tCL, WRITE: t.tCWL, UPDATE: t.tCWL}
    bank_last, groups, bus_free = {}, {}, 0
    last_read = last_write = -(10**6)
    previous = -1
    for token, now in zip(tokens.tolist(), times.tolist(), strict=True):
        access = int(accesses[token])
        row, bank, _ = dram_place(state, int(atoms[token]))
        group = bank % t.bank_groups
        assert now > previous
        assert now + data[access] >= bus_free
        bus_free = now + data[access] + t.burst
        if group in groups:
            before, kind, wrote = groups[group]
            assert now >= before + (t.tCCD_WL if kind == UPDATE else t.tCCD_L)
            if access == READ:
                assert now >= wrote + t.tCWL + t.burst + t.tWTR_L
        wrote = groups[group][2] if group in groups else -(10**6)
        groups[group] = (now, access, wrote if access == READ else now)
        if access == READ:
            assert now >= last_write + t.tCWL + t.burst + t.tWTR_S
            last_read = now
        else:
            assert now >= last_read + t.tRTW
            last_write = now
        opening = t.tRP + (t.tRCD_RD if access == READ else t.tRCD_WR)
        old_row, before, kind = bank_last.get(bank, (row, 0, READ))
        if old_row != row:
            closing = t.tRTP if kind == READ else t.tCWL + t.burst + t.tWR
            assert now >= before + closing + opening
        bank_last[bank] = (row, now, access)
        previous = now


@njit
def _first_difference(state, always_active, cycles, atoms, accesses, gaps, blocked):
    """Find the first cycle in which a channel that checks every queue in every cycle differs."""
    offered, free_at = 0, 0
    for now in range(cycles):
        if offered < len(atoms) and now >= free_at and dram_accepts(state, 0, accesses[offered]):
            for s in (state, always_active):
                dram_push(s, 0, now, accesses[offered], atoms[offered], offered)
            free_at = now + gaps[offered]
            offered += 1
        allowed = not blocked[now & 1023]
        c = always_active.channel[0]
        c.wake = c.column_try = c.row_try = now
        if dram_step(state, 0, now, allowed) != dram_step(always_active, 0, now, allowed):
            return now
    return -1 if offered == len(atoms) and dram_level(always_active, 0) == 0 else cycles


@pytest.mark.parametrize("seed,places", [(11, 20), (12, 3000), (13, 1 << 20)])
@pytest.mark.parametrize("name", ["v100", "hbm2", "per-bank", "pseudo-channel", "write-queue"])
def test_skipped_cycles_change_nothing(name, seed, places):
    atoms, accesses = _traffic(seed, 8000, places)
    generator = np.random.default_rng(seed)
    gaps = generator.choice([1, 1, 1, 1, 300], 8000)
    blocked = generator.random(1024) < 0.3
    timing = replace(TIMINGS[name], age_cap=150)
    state, always_active = new_dram(timing, 1), new_dram(timing, 1)
    assert _first_difference(state, always_active, 800_000, atoms, accesses, gaps, blocked) == -1


@pytest.mark.parametrize("queue", [{}, WRITE_QUEUE])
def test_waiting_is_bounded(queue):
    """Row hits, conflicts and turnarounds in a full queue."""
    generator = random.Random(5)
    atoms = np.array(
        [
            atom_at(0, i & 3, i >> 2 & 63)
            if generator.random() < 0.95
            else generator.getrandbits(20)
            for i in range(20_000)
        ]
    )
    accesses = np.array([generator.choice([READ, UPDATE]) for _ in atoms])
    timing = replace(DRAMSIM3_HBM2, age_cap=300, **queue)
    # A few may be starving at once: each takes a turn of its bank.
    turn = timing.tRAS + timing.tWR + timing.tRP + timing.tRCD_RD + timing.tRTW
    bound = timing.age_cap + timing.tRFC + 5 * turn
    assert timing.age_cap < _longest_wait(new_dram(timing, 1), atoms, accesses) < bound
    never = new_dram(replace(timing, age_cap=1 << 40), 1)
    assert _longest_wait(never, atoms, accesses) > 2 * bound


@njit
def _longest_wait(state, atoms, accesses):
    pushed = np.zeros(len(atoms), np.int64)
    offered = done = worst = now = 0
    while done < len(atoms):
        if offered < len(atoms) and dram_accepts(state, 0, accesses[offered]):
            dram_push(state, 0, now, accesses[offered], atoms[offered], offered)
            pushed[offered] = now
            offered += 1
        token = dram_step(state, 0, now, True)
        if token >= 0:
            worst = max(worst, now - pushed[token])
            done += 1
        now += 1
    return worst
