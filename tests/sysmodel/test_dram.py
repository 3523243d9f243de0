import random
from dataclasses import replace

import numpy as np
import pytest
from numba import njit

from sysmodel.dram import (
    READ,
    UPDATE,
    WRITE,
    dram_level,
    dram_place,
    dram_push,
    dram_step,
    new_dram,
)
from sysmodel.dram_timing import DRAMSIM3_HBM2, GPGPUSIM_V100, DramTiming

# Every gate as short as it may be, so that a test lengthens the one it is about.
BARE = DramTiming(
    tCCD_S=1,
    tCCD_L=1,
    tCCD_WL=1,
    tRRD_S=1,
    tRRD_L=1,
    tRCD_RD=2,
    tRCD_WR=2,
    tRP=2,
    tRAS=2,
    tCL=1,
    tCWL=1,
    tWTR_S=0,
    tWTR_L=0,
    tRTW=1,
    tRTP=1,
    tWR=0,
)

# One pseudo-channel of the reference figures: 32 bytes in two cycles.
PSEUDO_CHANNEL = DramTiming(
    columns=32,
    burst=2,
    tCCD_S=2,
    tCCD_L=4,
    tRRD_S=4,
    tRRD_L=4,
    tRCD_RD=14,
    tRCD_WR=12,
    tRP=14,
    tRAS=34,
    tCL=14,
    tCWL=5,
    tWTR_S=6,
    tWTR_L=8,
    tRTW=13,
    tRTP=5,
    tWR=16,
    tFAW=15,
    refresh="all-bank",
    tREFI=3900,
    tRFC=260,
)


def atom_at(row: int, bank: int, column: int = 0) -> int:
    """Address of a place in the default geometry: row.B3.C3.B1.C3."""
    return row << 10 | bank >> 1 << 7 | column >> 3 << 4 | (bank & 1) << 3 | column & 7


class Channel:
    """Steps channel 0 and writes down in which cycle each token is issued."""

    def __init__(self, timing: DramTiming, channels: int = 1):
        self.state = new_dram(timing, channels)
        self.now = 0
        self.issued: dict[int, int] = {}
        self.tokens = 0

    def push(self, access: int, row: int, bank: int, column: int = 0) -> int:
        token = self.tokens
        self.tokens += 1
        dram_push(self.state, 0, self.now, access, atom_at(row, bank, column), token)
        return token

    def run(self, cycles: int, allow_update: bool = True):
        for _ in range(cycles):
            token = dram_step(self.state, 0, self.now, allow_update)
            if token >= 0:
                assert token not in self.issued
                self.issued[token] = self.now
            self.now += 1

    def open(self, *banks: int, row: int = 0):
        """Opens a row in each bank with a read and lets every gate pass."""
        for bank in banks:
            self.push(READ, row, bank, 63)
        self.run(200)
        self.issued.clear()

    def issue_times(self, *requests: tuple[int, int, int, int], cycles: int = 600) -> list[int]:
        """Pushes requests now; their issue cycles, counted from now."""
        start = self.now
        tokens = [self.push(*request) for request in requests]
        self.run(cycles)
        return [self.issued[token] - start for token in tokens]


@njit
def _drive(state, cycles, atoms, accesses, depth, repeat, tokens, times, blocked):
    """Offers requests in order, one a cycle while there is room. Issued tokens and their cycles
    are written; `blocked` cycles of 16 do not allow updates. Returns how many were issued."""
    offered = done = 0
    for now in range(cycles):
        if offered < len(atoms) and dram_level(state, 0) < depth:
            dram_push(state, 0, now, accesses[offered], atoms[offered], offered)
            offered += 1
            if repeat and offered == len(atoms):
                offered = 0
        token = dram_step(state, 0, now, (now & 15) >= blocked)
        if token >= 0:
            if done < len(tokens):
                tokens[done] = token
                times[done] = now
            done += 1
    return done


def drive(timing, atoms, accesses, cycles, *, blocked=0, state=None):
    """Serves a finite list; tokens and cycles of issue, in order of issue."""
    atoms = np.asarray(atoms, np.int64)
    accesses = np.asarray(np.broadcast_to(accesses, atoms.shape), np.int64)
    tokens, times = np.full((2, len(atoms)), -1, np.int64)
    state = new_dram(timing, 1) if state is None else state
    depth = timing.queue_depth
    done = _drive(state, cycles, atoms, accesses, depth, False, tokens, times, blocked)
    return tokens[:done], times[:done], state


def rate(timing, atoms, accesses, cycles=100_000):
    """Column commands per cycle under an endless, saturating stream."""
    atoms = np.asarray(atoms, np.int64)
    accesses = np.array(np.broadcast_to(accesses, atoms.shape), np.int64)
    none = np.zeros(0, np.int64)
    state = new_dram(timing, 1)
    return _drive(state, cycles, atoms, accesses, timing.queue_depth, True, none, none, 0) / cycles


# Parameters.


def test_defaults():
    assert BARE.banks == 16 and BARE.queue_depth == 64
    assert replace(BARE, tCCD_L=3, tCCD_WL=None).tCCD_WL == 6
    assert GPGPUSIM_V100.tCCD_WL == 4
    assert GPGPUSIM_V100.read_latency == 15


@pytest.mark.parametrize(
    "change,error,message",
    [
        ({"tRP": 1.5}, TypeError, "tRP must be an integer, not 1.5"),
        ({"tRP": True}, TypeError, "tRP must be an integer, not True"),
        ({"tRP": -1}, ValueError, "tRP must be at least 0, not -1"),
        ({"burst": 0}, ValueError, "burst must be at least 1, not 0"),
        ({"banks": 12}, ValueError, "banks must be a power of two up to 32, not 12"),
        ({"banks": 64}, ValueError, "banks must be a power of two up to 32, not 64"),
        ({"banks": 2}, ValueError, r"bank_groups must be at most 2 \(banks\), not 4"),
        ({"bank_groups": 0}, ValueError, "bank_groups must be a power of two up to 8, not 0"),
        ({"columns": 4}, ValueError, r"low_column_bits must be at most 2 .*, not 3"),
        ({"low_bank_bits": 5}, ValueError, r"low_bank_bits must be at most 4 .*, not 5"),
        ({"queue_depth": 65}, ValueError, r"queue_depth must be at most 64 .*, not 65"),
        ({"burst": 2}, ValueError, r"tCCD_S must be at least 2 \(burst.*, not 1"),
        ({"tCCD_S": 2}, ValueError, r"tCCD_L must be at least 2 \(tCCD_S\), not 1"),
        ({"tCCD_L": 2}, ValueError, r"tCCD_WL must be at least 2 \(tCCD_L\), not 1"),
        ({"tRRD_S": 2}, ValueError, r"tRRD_L must be at least 2 \(tRRD_S\), not 1"),
        ({"tWTR_S": 2}, ValueError, r"tWTR_L must be at least 2 \(tWTR_S\), not 0"),
        ({"tCL": 5}, ValueError, r"tRTW must be at least 5 \(tCL \+ burst - tCWL.*, not 1"),
        ({"refresh": "some"}, ValueError, "refresh must be one of .*, not 'some'"),
        ({"tREFI": 9}, ValueError, "tREFI must be 0 without refresh, not 9"),
        ({"refresh": "all-bank", "tREFI": 9, "tRFC": 9}, ValueError, "tRFC must be at most 8"),
        ({"refresh": "all-bank", "tREFI": 9}, ValueError, "tRFC must be at least 1"),
        ({"turnaround_cap": 0}, ValueError, "turnaround_cap must be at least 1, not 0"),
    ],
)
def test_refused(change, error, message):
    with pytest.raises(error, match=message):
        replace(BARE, **change)


def test_no_channel_refused():
    with pytest.raises(ValueError, match="channels must be at least 1, not 0"):
        new_dram(BARE, 0)


def test_place():
    state = new_dram(BARE, 1)
    # row 5, B3 = 6, C3 = 3, B1 = 1, C3 = 2
    assert dram_place(state, 0b101_110_011_1_010) == (5, 0b1101, 0b011010)
    for row, bank, column in ((0, 0, 0), (9, 15, 63), (1 << 16, 7, 31)):
        assert dram_place(state, atom_at(row, bank, column)) == (row, bank, column)


def test_place_of_another_geometry():
    timing = replace(BARE, banks=8, bank_groups=2, columns=32, low_column_bits=1, low_bank_bits=2)
    # row 3, B1 = 1, C4 = 9, B2 = 2, C1 = 1
    assert dram_place(new_dram(timing, 1), 0b11_1_1001_10_1) == (3, 0b110, 0b10011)


# Timing. Each value is tried twice, so that the exact cycle is what decides.

RD, WR, UP = READ, WRITE, UPDATE


@pytest.mark.parametrize("value", [5, 9])
@pytest.mark.parametrize(
    "name,opened,requests,expected",
    [
        # Requests are (access, row, bank, column); expected is the last one's issue cycle.
        ("tRCD_RD", (), [(RD, 0, 0, 0)], lambda v: v),
        ("tRCD_WR", (), [(WR, 0, 0, 0)], lambda v: v),
        ("tRCD_WR", (), [(UP, 0, 0, 0)], lambda v: v),
        ("tCCD_L", (0,), [(RD, 0, 0, 0), (RD, 0, 0, 1)], lambda v: v),
        ("tCCD_L", (0, 4), [(WR, 0, 0, 0), (WR, 0, 4, 0)], lambda v: v),
        ("tCCD_L", (0, 4), [(WR, 0, 0, 0), (UP, 0, 4, 0)], lambda v: v),
        ("tCCD_L", (0, 1), [(RD, 0, 0, 0), (RD, 0, 1, 0)], lambda v: 1),
        ("tCCD_WL", (0,), [(UP, 0, 0, 0), (UP, 0, 0, 1)], lambda v: v),
        ("tCCD_WL", (0, 4), [(UP, 0, 0, 0), (WR, 0, 4, 0)], lambda v: v),
        ("tCCD_WL", (0, 4), [(UP, 0, 0, 0), (RD, 0, 4, 0)], lambda v: v),
        ("tCCD_WL", (0, 1), [(UP, 0, 0, 0), (UP, 0, 1, 0)], lambda v: 1),
        ("tRRD_L", (), [(RD, 0, 0, 0), (RD, 0, 4, 0)], lambda v: v + 2),
        ("tRRD_L", (), [(RD, 0, 0, 0), (RD, 0, 1, 0)], lambda v: 1 + 2),
        ("tFAW", (), [(RD, 0, b, 0) for b in range(5)], lambda v: v + 2),
        ("tFAW", (), [(RD, 0, b, 0) for b in range(4)], lambda v: 3 + 2),
        ("tRP", (0,), [(RD, 1, 0, 0)], lambda v: v + 2),
        ("tRAS", (), [(RD, 0, 0, 0), (RD, 1, 0, 0)], lambda v: v + 2 + 2),
        ("tRTP", (0,), [(RD, 0, 0, 0), (RD, 1, 0, 0)], lambda v: v + 2 + 2),
        ("tWR", (0,), [(WR, 0, 0, 0), (RD, 1, 0, 0)], lambda v: 1 + 1 + v + 2 + 2),
        ("tWR", (0,), [(UP, 0, 0, 0), (RD, 1, 0, 0)], lambda v: 1 + 1 + v + 2 + 2),
        ("tCWL", (0,), [(WR, 0, 0, 0), (RD, 1, 0, 0)], lambda v: v + 1 + 2 + 2),
        ("tRTW", (0,), [(RD, 0, 0, 0), (WR, 0, 0, 1)], lambda v: v),
        ("tRTW", (0, 1), [(RD, 0, 0, 0), (UP, 0, 1, 0)], lambda v: v),
        ("tWTR_L", (0, 4), [(WR, 0, 0, 0), (RD, 0, 4, 0)], lambda v: 1 + 1 + v),
        ("tWTR_L", (0, 4), [(UP, 0, 0, 0), (RD, 0, 4, 0)], lambda v: 1 + 1 + v),
        ("tWTR_L", (0, 1), [(WR, 0, 0, 0), (RD, 0, 1, 0)], lambda v: 1 + 1),
    ],
)
def test_gate(name, value, opened, requests, expected):
    changes = {name: value, "tCCD_WL": value} if name == "tCCD_L" else {name: value}
    channel = Channel(replace(BARE, **changes))
    channel.open(*opened)
    # Otherwise a read that is ready in the same cycle would go first.
    channel.state.channel["writing"] = requests[0][0] != READ
    assert channel.issue_times(*requests)[-1] == expected(value)


@pytest.mark.parametrize("value", [5, 9])
@pytest.mark.parametrize(
    "short,long,opened,requests,expected",
    [
        ("tCCD_S", "tCCD_L", (0, 1), [(RD, 0, 0, 0), (RD, 0, 1, 0)], lambda v: v),
        ("tCCD_S", "tCCD_L", (0, 1), [(WR, 0, 0, 0), (UP, 0, 1, 0)], lambda v: v),
        ("tRRD_S", "tRRD_L", (), [(RD, 0, 0, 0), (RD, 0, 1, 0)], lambda v: v + 2),
        ("tWTR_S", "tWTR_L", (0, 1), [(WR, 0, 0, 0), (RD, 0, 1, 0)], lambda v: 1 + 1 + v),
    ],
)
def test_gate_between_groups(short, long, value, opened, requests, expected):
    timing = replace(BARE, **{short: value, long: 20, "tCCD_WL": 20})
    channel = Channel(timing)
    channel.open(*opened)
    channel.state.channel["writing"] = requests[0][0] != READ
    assert channel.issue_times(*requests)[-1] == expected(value)


@pytest.mark.parametrize("burst", [2, 4])
def test_burst(burst):
    channel = Channel(replace(BARE, burst=burst, tCCD_S=4, tCCD_L=4, tCCD_WL=4, tRTW=4))
    channel.open(0)
    channel.state.channel["writing"] = 1
    channel.state.channel["busy_cycles"] = 0
    assert channel.issue_times((WR, 0, 0, 0), (RD, 0, 0, 1)) == [0, max(4, 1 + burst)]
    assert channel.state.channel["busy_cycles"][0] == 2 * burst


def test_row_and_column_command_in_one_cycle():
    channel = Channel(replace(BARE, tRAS=10))
    channel.open(0)
    assert channel.issue_times((RD, 0, 0, 0), (RD, 0, 1, 0)) == [0, 2]


# Refresh.

REFRESHING = replace(BARE, refresh="all-bank", tREFI=300, tRFC=50)


@pytest.mark.parametrize("rfc", [50, 60])
def test_refresh_gates_activates(rfc):
    channel = Channel(replace(REFRESHING, tRFC=rfc))
    channel.run(300)
    assert channel.issue_times((RD, 0, 3, 0)) == [rfc + 2]


def test_refresh_gates_open_rows():
    channel = Channel(REFRESHING)
    channel.open(0)
    channel.run(299 - channel.now)
    # The last read before it; the next one waits for precharge, refresh and activate.
    assert channel.issue_times((RD, 0, 0, 0), (RD, 0, 0, 1)) == [0, 1 + 2 + 50 + 2]


def test_refresh_waits_for_precharge():
    channel = Channel(replace(REFRESHING, tWR=20))
    channel.open(0)
    channel.run(299 - channel.now)
    assert channel.issue_times((WR, 0, 0, 0), (WR, 0, 9, 1)) == [0, 1 + 1 + 20 + 2 + 50 + 2]


def test_refresh_of_an_idle_channel_keeps_its_period():
    channel = Channel(REFRESHING)
    channel.run(3 * 300 + 10)
    assert channel.issue_times((RD, 0, 0, 0)) == [40 + 2]


def test_refresh_per_bank():
    timing = replace(REFRESHING, refresh="per-bank", tREFI=100)
    for turn, bank in ((1, 0), (2, 1), (16, 15), (17, 0)):
        channel = Channel(timing)
        channel.run(100 * turn)
        other = (bank + 1) % 16
        assert channel.issue_times((RD, 0, bank, 0), (RD, 0, other, 0)) == [50 + 2, 2]


@pytest.mark.parametrize("access", [READ, WRITE])
def test_refresh_costs_its_share(access):
    lost = []
    for rfc in (260, 520):
        timing = replace(GPGPUSIM_V100, refresh="all-bank", tREFI=3900, tRFC=rfc)
        lost.append(1 - rate(timing, np.arange(1 << 16), access, 390_000))
    assert lost[1] - lost[0] == pytest.approx(260 / 3900, rel=0.05)
    # Beside tRFC, the rows are closed and opened again.
    assert 260 / 3900 < lost[0] < 1.25 * 260 / 3900


# Scheduling.


def test_row_hit_first_then_oldest():
    channel = Channel(replace(BARE, tRP=10))
    channel.open(0)
    times = channel.issue_times((RD, 1, 0, 0), (RD, 0, 0, 0), (RD, 0, 0, 1))
    assert times[1:] == [0, 1]
    # Precharge in the cycle after tRTP, then tRP and tRCD.
    assert times[0] == 1 + 1 + 10 + 2


def test_oldest_bank_is_activated_first():
    channel = Channel(replace(BARE, tRRD_S=10, tRRD_L=10))
    order = [7, 2, 11]
    times = channel.issue_times(*((RD, 0, bank, 0) for bank in order))
    assert times == [2, 12, 22]


def test_oldest_ready_first_whatever_the_slot():
    """Slots are reused, so their numbers say nothing about age."""
    channel = Channel(replace(BARE, tCCD_S=3, tCCD_L=3, tCCD_WL=3, queue_depth=4))
    channel.open(0)
    first = [channel.push(READ, 0, 0, i) for i in range(4)]
    channel.run(1)
    late = channel.push(READ, 0, 0, 4)
    channel.run(3)
    later = channel.push(READ, 0, 0, 5)
    channel.run(100)
    assert sorted(channel.issued, key=channel.issued.get) == [*first, late, later]


@pytest.mark.parametrize("pair", [(RD, WR), (WR, RD), (UP, RD), (RD, UP), (UP, UP), (WR, UP)])
@pytest.mark.parametrize("writing", [0, 1])
def test_same_atom_keeps_order(pair, writing):
    channel = Channel(BARE)
    channel.open(0)
    channel.state.channel["writing"] = writing
    times = channel.issue_times(*((access, 0, 0, 5) for access in pair))
    assert times[0] < times[1]


def test_direction_is_kept_then_capped():
    timing = replace(BARE, tRTW=10, tWTR_S=8, tWTR_L=8, turnaround_cap=4)
    channel = Channel(timing)
    channel.open(0)
    requests = [(access, 0, 0, 2 * i + access) for i in range(8) for access in (READ, WRITE)]
    times = channel.issue_times(*requests)
    order = [requests[i][0] for i in np.argsort(times)]
    assert order == [READ] * 4 + [WRITE] * 4 + [READ] * 4 + [WRITE] * 4


def test_direction_cap_counts_only_while_the_other_waits():
    channel = Channel(replace(BARE, turnaround_cap=4))
    channel.open(0)
    reads = [channel.push(READ, 0, 0, i) for i in range(20)]
    channel.run(10)
    write = channel.push(WRITE, 0, 0, 30)
    channel.run(100)
    assert channel.issued[write] - channel.issued[reads[9]] == 5


def test_updates_wait_for_permission():
    channel = Channel(BARE)
    channel.open(0)
    update, write = channel.push(UPDATE, 0, 0, 0), channel.push(WRITE, 0, 0, 1)
    read = channel.push(READ, 0, 0, 2)
    channel.run(50, allow_update=False)
    assert list(channel.issued) == [read]
    channel.run(50)
    assert (channel.issued[update], channel.issued[write]) == (250, 251)


def test_permission_that_ends_wakes_the_reads():
    """The direction is held for an update that waits for its group; without permission, no more."""
    channel = Channel(replace(BARE, tCCD_WL=30))
    channel.open(0, 1)
    channel.state.channel["writing"] = 1
    first, second = channel.push(UPDATE, 0, 0, 0), channel.push(UPDATE, 0, 0, 1)
    read = channel.push(READ, 0, 1, 0)
    channel.run(10)
    assert list(channel.issued) == [first]
    channel.run(1, allow_update=False)
    assert channel.issued[read] == 210
    channel.run(100)
    assert channel.issued[second] == 230


@pytest.mark.parametrize("cap", [100, 200])
@pytest.mark.parametrize("access", [READ, WRITE])
def test_row_hits_do_not_starve_a_conflict(cap, access):
    timing = replace(GPGPUSIM_V100, age_cap=cap)
    channel = Channel(timing)
    channel.open(0, 4)
    start = channel.now
    victim = channel.push(access, 1, 0)
    column = 0
    while victim not in channel.issued and channel.now < start + 1000:
        while dram_level(channel.state, 0) < 16:
            channel.push(READ, 0, (column & 1) * 4, column >> 1 & 31)
            column += 1
        channel.run(1)
    waited = channel.issued[victim] - start
    around = timing.tRAS + timing.tRTP + timing.tRP + timing.tRCD_RD + timing.tRTW
    assert cap <= waited <= cap + around


def test_starved_direction_goes_first():
    timing = replace(GPGPUSIM_V100, age_cap=100, turnaround_cap=10_000)
    channel = Channel(timing)
    channel.open(0)
    start = channel.now
    victim = channel.push(WRITE, 0, 0)
    column = 0
    while victim not in channel.issued and channel.now < start + 1000:
        while dram_level(channel.state, 0) < 16:
            channel.push(READ, 0, 0, 1 + column % 32)
            column += 1
        channel.run(1)
    assert 100 < channel.issued[victim] - start <= 100 + timing.tRTW


def test_channels_are_independent():
    state = new_dram(BARE, 3)
    dram_push(state, 1, 0, READ, 0, 7)
    assert [dram_level(state, ch) for ch in range(3)] == [0, 1, 0]
    issued = [[dram_step(state, ch, now, True) for ch in range(3)] for now in range(4)]
    assert issued == [[-1, -1, -1], [-1, -1, -1], [-1, 7, -1], [-1, -1, -1]]


def test_counters():
    channel = Channel(BARE)
    channel.issue_times((RD, 0, 0, 0), (RD, 0, 0, 1), (WR, 0, 1, 0), (UP, 0, 1, 1), (UP, 1, 1, 0))
    counters = channel.state.channel[0]
    assert [counters[f"{name}_count"] for name in ("read", "write", "update")] == [2, 1, 2]
    assert counters["activate_count"] == 3
    assert counters["row_hit_count"] == 2
    assert counters["busy_cycles"] == 5
    # A request counts in every cycle from its push to its issue.
    assert counters["occupancy_sum"] == sum(time + 1 for time in channel.issued.values())


# Bandwidth.


@pytest.mark.parametrize("access", [READ, WRITE])
def test_sequential_is_peak(access):
    assert rate(GPGPUSIM_V100, np.arange(1 << 16), access) > 0.999


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
    unrefreshed = replace(DRAMSIM3_HBM2, refresh="none", tREFI=0, tRFC=0)
    assert rate(unrefreshed, atoms, READ) == pytest.approx(4 / 30, rel=0.01)


# Figures of other simulators for one pseudo-channel, as fractions of its peak: sequential traffic,
# and reads and writes alternating in two regions, that many bytes apart from the same bank.
# Ramulator 2.1 (c5b1c3a, queues of 64 or 32) and DRAMsim3 (2981759, queues of 32).
SEQUENTIAL = {
    (READ, True): [0.9192, 0.9195, 0.9221],
    (WRITE, True): [0.9148, 0.9145, 0.9184],
    (READ, False): [0.9999, 0.9999],
    (WRITE, False): [0.9999, 0.9998],
}
ALTERNATING = {
    (0, True): [0.4902, 0.6912],
    (16384, True): [0.7165, 0.5865],
    (8192, True): [0.7536],
    (0, False): [0.7398],
    (16384, False): [0.7779],
    (8192, False): [0.8326],
}


def _pseudo_channel(refresh):
    if refresh:
        return PSEUDO_CHANNEL
    return replace(PSEUDO_CHANNEL, refresh="none", tREFI=0, tRFC=0)


@pytest.mark.parametrize("access,refresh", SEQUENTIAL)
def test_sequential_equals_other_simulators(access, refresh):
    timing = _pseudo_channel(refresh)
    fraction = timing.burst * rate(timing, np.arange(1 << 18), access, 400_000)
    for figure in SEQUENTIAL[access, refresh]:
        assert fraction == pytest.approx(figure, rel=0.02)


def _alternating(timing, offset):
    index = np.arange(1 << 18)
    atoms = (index >> 1) + (index & 1) * ((1 << 24) + offset // 32)
    return timing.burst * rate(timing, atoms, index & 1, 400_000)


@pytest.mark.parametrize("refresh", [True, False])
def test_alternating_lies_between_other_simulators(refresh):
    """The two disagree by far on mixed traffic, so that only their span binds."""
    timing = _pseudo_channel(refresh)
    figures = [
        figure for (_, how), found in ALTERNATING.items() if how == refresh for figure in found
    ]
    for offset in (0, 8192, 16384):
        assert min(figures) <= _alternating(timing, offset) <= max(figures)


# Random traffic.


def _traffic(seed, count, atoms):
    """Runs of neighbours among `atoms` places, of random kinds."""
    generator = np.random.default_rng(seed)
    print("seed", seed)
    starts = generator.integers(0, atoms, count // 4)
    where = (starts[:, None] + np.arange(4)).ravel() * generator.choice([1, 16, 1024])
    return where, generator.integers(0, 3, count)


TIMINGS = {
    "bare": BARE,
    "v100": GPGPUSIM_V100,
    "hbm2": replace(DRAMSIM3_HBM2, age_cap=500),
    "per-bank": replace(DRAMSIM3_HBM2, refresh="per-bank", tREFI=128, tRFC=120),
    "pseudo-channel": PSEUDO_CHANNEL,
    "small": replace(GPGPUSIM_V100, banks=4, bank_groups=2, columns=16, queue_depth=5),
}


@pytest.mark.parametrize("seed,places", [(1, 20), (2, 3000), (3, 1 << 20)])
@pytest.mark.parametrize("name", TIMINGS)
def test_random_traffic(name, seed, places):
    timing = TIMINGS[name]
    atoms, accesses = _traffic(seed, 6000, places)
    tokens, times, state = drive(timing, atoms, accesses, 400_000, blocked=seed)
    assert sorted(tokens) == list(range(len(atoms)))
    assert dram_level(state, 0) == 0
    leftovers = ("valid", "reads", "updates", "hits", "blocked", "busy", "wanted", "starving")
    assert all(state.channel[0][mask] == 0 for mask in leftovers)
    last = {}
    for token in tokens:
        assert last.get(atoms[token], -1) < token
        last[atoms[token]] = token
    _audit(timing, state, tokens, times, atoms, accesses)
    for token, time in zip(tokens, times, strict=True):
        assert accesses[token] == READ or time & 15 >= seed


def _audit(timing, state, tokens, times, atoms, accesses):
    """Every rule between two column commands, one by one, on what was issued."""
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
def _compare_with_sleepless(state, awake, cycles, atoms, accesses, gaps, blocked):
    """The first cycle in which a channel that looks at everything in every cycle differs."""
    offered, free_at = 0, 0
    for now in range(cycles):
        if offered < len(atoms) and now >= free_at and dram_level(state, 0) < 64:
            for s in (state, awake):
                dram_push(s, 0, now, accesses[offered], atoms[offered], offered)
            free_at = now + gaps[offered]
            offered += 1
        allowed = not blocked[now & 1023]
        c = awake.channel[0]
        c.wake = c.column_try = c.row_try = now
        if dram_step(state, 0, now, allowed) != dram_step(awake, 0, now, allowed):
            return now
    return -1 if offered == len(atoms) and dram_level(awake, 0) == 0 else cycles


@pytest.mark.parametrize("seed,places", [(11, 20), (12, 3000), (13, 1 << 20)])
@pytest.mark.parametrize("name", ["v100", "hbm2", "per-bank", "pseudo-channel"])
def test_sleeping_changes_nothing(name, seed, places):
    atoms, accesses = _traffic(seed, 8000, places)
    generator = np.random.default_rng(seed)
    gaps = generator.choice([1, 1, 1, 1, 300], 8000)
    blocked = generator.random(1024) < 0.3
    timing = replace(TIMINGS[name], age_cap=150)
    state, awake = new_dram(timing, 1), new_dram(timing, 1)
    assert _compare_with_sleepless(state, awake, 800_000, atoms, accesses, gaps, blocked) == -1


def test_waiting_is_bounded():
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
    timing = replace(DRAMSIM3_HBM2, age_cap=300)
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
        if offered < len(atoms) and dram_level(state, 0) < 64:
            dram_push(state, 0, now, accesses[offered], atoms[offered], offered)
            pushed[offered] = now
            offered += 1
        token = dram_step(state, 0, now, True)
        if token >= 0:
            worst = max(worst, now - pushed[token])
            done += 1
        now += 1
    return worst
