"""Rates of access patterns against closed forms."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.engine.codes import READ, UPDATE, WRITE
from sysmodel.memory.dram import dram_place, new_dram
from t3.experiments.dram.patterns import Pattern, mixed, random_rows, sequential, streams, strided
from t3.experiments.dram.serve import fraction_of_peak, without_refresh
from t3.experiments.validation.timings import RAMULATOR_HBM2, with_ramulator_queues
from tests.support.dram_harness import BARE

# One of the pseudo-channels, alone on buses that take a command per cycle.
ALONE = replace(
    RAMULATOR_HBM2,
    pseudo_channels=1,
    activate_half_cycles=2,
    address_map="column:3 group:1 column:2 group:1 bank:2",
)
BANK_ROW_ATOMS = 16 * 32  # one row in all banks of the pseudo-channel


def _places(pattern, chosen):
    state = new_dram(ALONE, 1)
    return [dram_place(state, int(atom)) for atom in pattern.atoms[chosen]]


def test_streams_take_turns_and_each_array_is_contiguous():
    pattern = streams(2, 1, grain_atoms=4, seed=3, requests=1000)
    turns = pattern.atoms.reshape(-1, 3, 4)
    assert (pattern.accesses.reshape(-1, 3, 4) == [[READ], [READ], [WRITE]]).all()
    for array in range(3):
        assert (np.diff(turns[:, array].ravel()) == 1).all()
    assert len(np.unique(turns >> 25)) == 3  # regions that share no row
    assert (streams(2, 1, seed=4).atoms[:16] != streams(2, 1, seed=5).atoms[:16]).all()


@pytest.mark.parametrize("reads,writes,grain", [(1, 1, 1), (2, 1, 1), (1, 3, 4), (5, 2, 8)])
def test_mix_has_its_ratio_and_grain_and_two_sequential_streams(reads, writes, grain):
    pattern = mixed(reads, writes, grain_atoms=grain)
    turn = [READ] * reads * grain + [WRITE] * writes * grain
    assert pattern.accesses[: 3 * len(turn)].tolist() == 3 * turn
    assert pattern.accesses[-len(turn) :].tolist() == turn
    for access in (READ, WRITE):
        stream = pattern.atoms[pattern.accesses == access]
        assert (np.diff(stream) == 1).all()


def test_regions_share_the_bank_unless_there_is_an_offset():
    (row, bank, column), (other_row, *others) = _places(mixed(), slice(2))
    assert others == [bank, column] and other_row != row
    _, (_, shifted, _) = _places(mixed(offset_bytes=4096), slice(2))
    assert shifted != bank
    # 64-byte atoms: half as many to the same distance.
    assert np.array_equal(
        mixed(offset_bytes=4096, atom_bytes=64).atoms, mixed(offset_bytes=2048).atoms
    )


@pytest.mark.parametrize("access", [READ, WRITE])
def test_without_refresh_sequential_is_the_peak(access):
    share = fraction_of_peak(ALONE, sequential(access), refresh=False)
    assert share == pytest.approx(1, abs=1e-3)


def test_refresh_takes_its_time():
    t = ALONE
    share = fraction_of_peak(t, sequential(READ), cycles=1000 * t.tREFI)
    # Closing and opening the banks comes to tRFC.
    most = 1 - t.tRFC / t.tREFI
    least = 1 - (t.tRFC + t.tRAS + t.tRP + t.tRCD_RD + 16) / t.tREFI
    assert least < share < most
    plain = without_refresh(t)
    assert fraction_of_peak(plain, sequential(READ)) > fraction_of_peak(t, sequential(READ))


def test_one_bank_is_bound_by_its_row_cycle():
    t = without_refresh(ALONE)
    share = fraction_of_peak(t, strided(READ, BANK_ROW_ATOMS))
    assert share == pytest.approx(t.burst / (t.tRAS + t.tRP), rel=1e-3)


def test_random_rows_are_bound_by_activates():
    t = without_refresh(ALONE)
    window = max(4 * t.tRRD_S, t.tFAW)
    assert fraction_of_peak(t, random_rows(READ)) == pytest.approx(4 * t.burst / window, rel=0.01)
    slow = replace(t, tFAW=40)
    assert fraction_of_peak(slow, random_rows(READ)) == pytest.approx(4 * t.burst / 40, rel=0.01)


def test_updates_of_one_bank_group_take_twice_as_long():
    t = without_refresh(ALONE)
    atoms = np.arange(8)  # atoms of one bank
    for access, gap in ((WRITE, t.tCCD_L), (UPDATE, 2 * t.tCCD_L)):
        share = fraction_of_peak(t, Pattern(atoms, np.full(8, access)))
        assert share == pytest.approx(t.burst / gap, rel=1e-3)


def test_batches_between_turns_decide_a_mix():
    """Without conflicts, two batches and the turns between them decide the rate."""
    t = replace(without_refresh(ALONE), turnaround_cap=40)
    there, back = t.tRTW - t.burst, t.tCWL + t.tWTR_S  # beyond the last command's own data
    share = fraction_of_peak(t, mixed(offset_bytes=4096))
    assert share == pytest.approx(80 / (80 + there + back), rel=0.03)


def test_drains_decide_unequal_ratios():
    """A drain, its share of reads, two turns and at most one row's opening make a period.

    The streams run at different speeds and meet in a bank now and then.
    """
    t = with_ramulator_queues(without_refresh(ALONE), 32, 32)
    turning = (t.tRTW - t.burst) + (t.tCWL + t.tWTR_S)
    opening = t.tRP + t.tRCD_RD
    drained = (t.write_high - t.write_low) * t.burst
    shares = []
    for reads in (16, 8, 4, 2, 1):
        data = drained * (reads + 1)
        shares.append(fraction_of_peak(t, mixed(reads=reads, offset_bytes=4096)))
        assert data / (data + turning + opening) < shares[-1] < data / (data + turning)
    assert shares == sorted(shares, reverse=True)
    many_writes = [
        fraction_of_peak(t, mixed(writes=writes, offset_bytes=4096)) for writes in (32, 8, 4, 2)
    ]
    assert many_writes == sorted(many_writes, reverse=True)


def test_a_drain_in_the_bank_of_the_reads_opens_rows_anew():
    t = with_ramulator_queues(ALONE, 32, 32)
    assert fraction_of_peak(t, mixed()) < 0.75 * fraction_of_peak(t, mixed(offset_bytes=4096))


def test_queue_depth_matters_and_is_the_timings_own_if_not_given():
    t = without_refresh(ALONE)
    assert fraction_of_peak(t, mixed()) == fraction_of_peak(t, mixed(), queue_depth=t.queue_depth)
    shallow = fraction_of_peak(t, mixed(offset_bytes=4096), queue_depth=4)
    assert shallow < 0.6 * fraction_of_peak(t, mixed(offset_bytes=4096), queue_depth=64)


def test_a_pattern_of_ones_own_starts_over():
    pattern = Pattern([0, 1, 2], [READ] * 3)
    assert fraction_of_peak(BARE, pattern) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    "make,message",
    [
        (lambda: mixed(reads=0), "reads must be at least 1, not 0"),
        (lambda: mixed(writes=-1), "writes must be at least 1, not -1"),
        (lambda: mixed(grain_atoms=0), "grain_atoms must be at least 1, not 0"),
        (lambda: mixed(offset_bytes=33), r"offset_bytes must be a multiple of 32 .*, not 33"),
        (lambda: mixed(offset_bytes=-32), r"offset_bytes must be .*, not -32"),
        (lambda: strided(READ, 0), "stride_atoms must be at least 1, not 0"),
        (lambda: streams(0, 0), "arrays must be at least 1, not 0"),
        (lambda: Pattern([], []), "not empty"),
        (lambda: Pattern([1, 2], [READ]), r"equally long.*\(2,\) and \(1,\)"),
        (lambda: Pattern([-1], [READ]), "atoms must be at least 0, not -1"),
        (lambda: Pattern([1], [7]), r"accesses must be .*, not 7"),
        (lambda: fraction_of_peak(BARE, sequential(READ), cycles=0), "cycles must be at least 1"),
        (
            lambda: fraction_of_peak(BARE, sequential(READ), queue_depth=257),
            "queue_depth must be at most 256",
        ),
    ],
)
def test_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
