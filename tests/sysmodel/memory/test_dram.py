from dataclasses import replace

import numpy as np
import pytest

from sysmodel.engine.codes import READ, UPDATE, WRITE
from sysmodel.memory.dram import dram_level, dram_place, dram_push, dram_step, new_dram
from tests.support.dram_harness import BARE, GPGPUSIM_V100, Channel, atom_at, rate


def test_no_channel_refused():
    with pytest.raises(ValueError, match="channels must be a multiple of 1, not 0"):
        new_dram(BARE, 0)


def test_place():
    state = new_dram(BARE, 1)
    # row 5, B3 = 6, C3 = 3, B1 = 1, C3 = 2
    assert dram_place(state, 0b101_110_011_1_010) == (5, 0b1101, 0b011010)
    for row, bank, column in ((0, 0, 0), (9, 15, 63), (1 << 16, 7, 31)):
        assert dram_place(state, atom_at(row, bank, column)) == (row, bank, column)


def test_place_of_another_geometry():
    timing = replace(
        BARE,
        banks=8,
        bank_groups=2,
        columns=32,
        address_map="column:1 group:1 bank:1 column:4 bank:1",
    )
    # row 3, B1 = 1, C4 = 9, B2 = 2, C1 = 1
    assert dram_place(new_dram(timing, 1), 0b11_1_1001_10_1) == (3, 0b110, 0b10011)


# Timing. Each value is tried twice, so that the exact cycle decides.

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
    timing = replace(REFRESHING, refresh="per-bank", tREFI=1600, tRFC_pb=50)
    for turn, bank in ((1, 0), (2, 1), (16, 15), (17, 0)):
        channel = Channel(timing)
        channel.run(100 * turn + 1)
        other = (bank + 1) % 16
        assert channel.issue_times((RD, 0, bank, 0), (RD, 0, other, 0)) == [50 - 1 + 2, 2]


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
