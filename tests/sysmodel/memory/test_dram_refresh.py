"""Per-bank refresh: its cost, and that streams are not in step with it."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.engine.codes import READ, WRITE
from t3.experiments.dram.memory import standard_memory
from t3.experiments.dram.patterns import Pattern, random_rows, sequential, strided
from t3.experiments.dram.serve import fraction_of_peak, serve, without_refresh
from tests.support.dram_harness import BARE, Channel

PER_BANK = replace(BARE, refresh="per-bank", tREFI=1600, tRFC_pb=60, tRP=5, tRCD_RD=5, tRCD_WR=5)


@pytest.mark.parametrize("t", [PER_BANK, replace(PER_BANK, tREFI=3200, tRFC_pb=200)])
def test_one_bank_alone_loses_its_own_refresh(t):
    """All requests to one row: in each tREFI it is closed, refreshed and opened again."""
    share = fraction_of_peak(t, Pattern(np.arange(8), np.full(8, READ)), cycles=1000 * t.tREFI)
    lost = t.tRP + t.tRFC_pb + t.tRCD_RD
    assert 1 - share == pytest.approx(lost / t.tREFI, rel=0.1)


@pytest.mark.parametrize("banks", [16, 4])
def test_every_bank_is_refreshed_once_in_a_round(banks):
    t = replace(PER_BANK, banks=banks, address_map=f"column:6 group:2 bank:{banks // 8}")
    channel = Channel(t)
    channel.run(t.tREFI + 2)
    assert channel.state.channel["refresh_count"][0] == banks
    assert channel.state.channel["refreshed"][0] == (1 << banks) - 1


@pytest.mark.parametrize("standard,mhz", [("hbm2", 1000), ("hbm3", 1600), ("hbm4", 2000)])
@pytest.mark.parametrize("access", [READ, WRITE])
@pytest.mark.parametrize("stride", [1, 16, 1 << 10])
def test_a_stream_never_locks_to_the_refresh(standard, mhz, access, stride):
    """A stream loses at most the part of each interval in which nothing may be activated."""
    t = replace(standard_memory(standard, mhz).timing_cycles, refresh="per-bank")
    pattern = strided(access, stride)
    plain = fraction_of_peak(without_refresh(t), pattern)
    blocked = t.tRREFD / t.refresh_interval
    assert fraction_of_peak(t, pattern) >= 0.98 * plain * (1 - blocked)


def test_random_access_loses_the_time_in_which_nothing_is_activated():
    t = replace(standard_memory("hbm3", 1600).timing_cycles, refresh="per-bank")
    plain, share = (fraction_of_peak(one, random_rows(READ)) for one in (without_refresh(t), t))
    assert share == pytest.approx(plain * (1 - t.tRREFD / t.refresh_interval), rel=0.05)


def test_refreshes_are_neither_left_out_nor_too_many():
    t = standard_memory("hbm3", 1600).timing_cycles
    served = serve(t, sequential(READ))
    wanted = 2 * served.cycles / t.refresh_interval  # refreshes of two pseudo-channels
    assert wanted - 2 * 9 <= served.refreshes <= wanted + 2


def test_all_bank_refresh_of_both_pseudo_channels():
    t = replace(standard_memory("hbm3", 1600).timing_cycles, refresh="all-bank")
    share = fraction_of_peak(t, sequential(READ), cycles=100 * t.tREFI)
    most = 1 - t.tRFC / t.tREFI
    assert most - (t.tRAS + t.tRP + t.tRCD_RD + 20) / t.tREFI < share < most


@pytest.mark.parametrize("refresh", ["all-bank", "staggered"])
def test_staggered_refreshes_of_two_pseudo_channels_are_half_an_interval_apart(refresh):
    pair = replace(
        BARE, pseudo_channels=2, burst=2, tCCD_S=2, tCCD_L=2, tCCD_WL=2, tRTW=2,
        refresh=refresh, tREFI=2000, tRFC=300,
    )  # fmt: skip
    served = serve(pair, sequential(READ))
    stops = []
    for pseudo in range(2):
        at = np.sort(served.issued_at[pseudo::2])
        stops.append(at[:-1][np.diff(at) >= pair.tRFC])
    first, second = (stops[i][5:15] for i in range(2))
    assert np.diff(first) == pytest.approx(pair.tREFI, abs=30)
    apart = (first[0] - second[0]) % pair.tREFI
    expected = pair.tREFI / 2 if refresh == "staggered" else 0
    assert min(abs(apart - expected), pair.tREFI - abs(apart - expected)) <= 30


def test_both_pseudo_channels_wait_for_each_others_staggered_refresh():
    """Requests are offered in order, and the one that is refreshed fills the common queue."""
    t = replace(standard_memory("hbm3", 1600).timing_cycles, queue_depth=64, shared_queue=True)
    loss = [
        1 - serve(replace(t, refresh=one), sequential(READ)).share_of_peak
        for one in ("none", "all-bank", "staggered")
    ]
    assert loss[2] - loss[0] == pytest.approx(2 * (loss[1] - loss[0]), rel=0.15)


def test_a_stack_is_refreshed_while_the_other_is_read():
    t = replace(
        BARE, banks=8, stack_ids=2, address_map="column:6 group:2 stack:1", tREFI=1000, tRFC=300,
    )  # fmt: skip
    one_stack = Pattern(np.arange(64), np.full(64, READ))
    shares = {
        refresh: fraction_of_peak(replace(t, refresh=refresh), one_stack, cycles=100_000)
        for refresh in ("all-bank", "per-stack")
    }
    # The banks of a stack are closed once in tREFI either way.
    assert shares["per-stack"] == pytest.approx(shares["all-bank"], rel=0.01)
    assert shares["all-bank"] == pytest.approx(1 - t.tRFC / t.tREFI, abs=0.02)
    channel = Channel(replace(t, refresh="per-stack"))
    channel.run(4 * t.tREFI)
    assert channel.state.channel["refresh_count"][0] == 2 * 4 - 1
    assert (channel.state.channel["bank_activate"][0][:4] > 0).all()
