"""Serving a pattern once: address maps, offered rate, latencies, queues in front."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.engine.codes import READ, WRITE
from t3.experiments.dram.loop import Front
from t3.experiments.dram.patterns import Pattern, mixed, sequential
from t3.experiments.dram.serve import serve, split_channel
from tests.support.dram_harness import BARE

PAIR = replace(BARE, pseudo_channels=2, burst=2, tCCD_S=2, tCCD_L=2, tCCD_WL=2, tRTW=2)


@pytest.mark.parametrize(
    "address_map,bit", [("pseudo:1 column:6", 0), ("column:3 pseudo:1 group:2", 3)]
)
def test_pseudo_channel_is_cut_out_of_the_address(address_map, bit):
    atoms = np.random.default_rng(1).integers(0, 1 << 30, 1000)
    channel, local, rest = split_channel(atoms, address_map)
    assert "pseudo" not in rest and len(rest.split()) == len(address_map.split()) - 1
    for atom, c, one in zip(atoms.tolist(), channel.tolist(), local.tolist(), strict=True):
        bits = f"{atom:040b}"
        assert c == int(bits[-1 - bit])
        assert one == int(bits[: 39 - bit] + (bits[40 - bit :] if bit else ""), 2)


def test_latency_of_a_single_read_is_the_rows_opening_and_the_data():
    served = serve(BARE, Pattern([0], [READ]))
    assert served.latency_cycles.tolist() == [BARE.tRCD_RD + BARE.read_latency]


def test_latency_is_of_reads_only():
    served = serve(BARE, mixed(2, 1, requests=300))
    assert len(served.latency_cycles) == 200


@pytest.mark.parametrize("offered", [1, 2, 8])
def test_no_more_is_accepted_than_is_offered(offered):
    pattern = sequential(READ)
    served = serve(PAIR, pattern, offered_per_cycle=offered)
    assert served.cycles >= len(pattern.atoms) / offered
    assert served.share_of_peak == pytest.approx(1, abs=2e-3)


def test_transactions_are_released_in_batches():
    """As many writes as a full write queue held, then reads again."""
    t = replace(BARE, queue_depth=64, turnaround_cap=1 << 40, age_cap=1 << 40)
    pattern = mixed(offset_bytes=1 << 14, requests=4000)
    served = serve(t, pattern, front=Front(transactions=16, of_bank=64), offered_per_cycle=4)
    order = pattern.accesses[np.argsort(served.issued_at)]
    runs = np.diff(np.flatnonzero(np.diff(order) != 0))
    assert np.median(runs) >= 16


@pytest.mark.parametrize(
    "options,message",
    [
        ({"offered_per_cycle": 0}, "offered_per_cycle must be at least 1, not 0"),
        ({"address_map": "column:6"}, "address_map 'column:6' has 0 bits for the group"),
    ],
)
def test_refused(options, message):
    with pytest.raises(ValueError, match=message):
        serve(BARE, Pattern([0], [WRITE]), **options)
