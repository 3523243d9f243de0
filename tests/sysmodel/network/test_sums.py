"""Sums in switches: the packets of all GPUs for a place end there, and one arrives."""

import numpy as np
import pytest

from sysmodel.config.topology import load_topology
from sysmodel.network.records import MOST_SUMS
from tests.support.network_bench import NetworkBench

_CHANNELS = 4


def _bench(gpus, count, *, seed, topology="nvswitch-8", **more):
    """Bench whose GPUs send the same atoms to the same receivers, each in an order of its own."""
    print("seed", seed)
    random = np.random.default_rng(seed)
    receiver = random.integers(0, gpus, (_CHANNELS, count))
    order = np.empty((gpus, _CHANNELS, count), np.int64)
    for g in range(gpus):
        for c in range(_CHANNELS):
            # Packets leave up to eight places before or behind those of other GPUs.
            order[g, c] = np.argsort(np.arange(count) + random.uniform(0, 8, count))
    rank = np.arange(gpus)[:, None, None]
    to = receiver[np.arange(_CHANNELS)[None, :, None], order]
    bench = NetworkBench(topology, gpus, gpus + 1 + (to - rank) % gpus, **more)
    bench.numbers = order + count * np.arange(_CHANNELS)[None, :, None]
    bench.expected = _CHANNELS * count
    bench._arrived = np.zeros((bench.expected, 4), np.int64)
    return bench, receiver


def _drained(bench):
    state = bench.state
    return not (state.channel["outstanding"].any() or state.sums.any() or state.fixed["queued"][0])


@pytest.mark.parametrize("gpus", [2, 3, 8])
def test_each_sum_arrives_once_at_its_receiver(gpus):
    count = 200
    bench, receiver = _bench(gpus, count, seed=gpus)
    assert bench.routes.merges
    arrival = bench.run(100_000)
    assert len(arrival.packet) == bench.expected == len(set(arrival.packet.tolist()))
    assert (receiver.ravel()[arrival.packet] == arrival.gpu).all()
    assert (arrival.packet // count == arrival.channel).all()
    assert _drained(bench)
    assert 0 < bench.state.fixed["most_sums"][0] < MOST_SUMS


def test_links_carry_every_packet_up_and_each_sum_down():
    gpus, count = 8, 200
    bench, receiver = _bench(gpus, count, seed=1)
    bench.run(100_000)
    up, down = np.zeros(gpus, int), np.zeros(gpus, int)
    for link, sent in zip(bench.fabric.links, bench.link_bytes, strict=True):
        side, gpu = (up, link.source) if bench.fabric.is_gpu(link.source) else (down, link.target)
        side[gpu] += sent // 32
    assert (up == _CHANNELS * count).all()
    assert down.tolist() == np.bincount(receiver.ravel(), minlength=gpus).tolist()


def test_a_sum_is_complete_when_its_last_packet_arrives():
    """GPU 2 sends its only packet to a switch whose way there takes time after all others."""
    bench, _ = _bench(4, 1, seed=2)
    first = bench.windows[2].copy()
    bench.windows[2] = -1
    assert len(bench.run(2000).packet) == 0
    begin = bench.now
    bench.windows[2] = first
    arrival = bench.run(2000)
    latency = sum(bench.capacity.latency_cycles[e] for e in bench.fabric.turn(2))
    assert len(arrival.packet) == _CHANNELS
    assert arrival.cycle.min() - begin >= latency
    assert arrival.cycle.max() - begin < latency + 40


def test_a_full_table_holds_up_new_sums_only():
    """One GPU is ahead of the others by more sums than the table has."""
    gpus, count = 2, MOST_SUMS + 500
    bench, _ = _bench(gpus, count, seed=3)
    held = bench.windows[1].copy()
    bench.windows[1] = -1
    bench.run(100_000)
    assert (bench.state.sums == MOST_SUMS).all()
    assert bench.unsent[0] > 0
    bench.windows[1] = held
    assert len(bench.run(200_000).packet) == bench.expected
    assert _drained(bench)


@pytest.mark.parametrize("name", ["ring", "switch", "fully-connected", "h100-nodes"])
def test_sums_need_switches_that_add(name):
    gpus = 16 if name == "h100-nodes" else 4
    windows = np.full((gpus, _CHANNELS, 1), gpus + 1)
    bench = NetworkBench(name, gpus, windows)
    assert not bench.routes.merges
    assert len(bench.run(1000).packet) == 0


def test_rails_join_only_gpus_of_the_same_place():
    topology = {
        **{"description": "d", "source": "s", "kind": "nodes"},
        **{"gpus_per_node": 2, "inside": "nvswitch-8", "between": "rails", "forwards": True},
        "switch": {"planes": 1, "latency_ns": 100, "queue_bytes": 65536, "multicasts": True,
                   "reduces": True},
        "link": {"bandwidth_gb_per_s": 50, "latency_ns": 100},
    }  # fmt: skip
    assert load_topology(topology).fits(4)
    bench = NetworkBench(topology, 4, np.full((4, _CHANNELS, 1), -1))
    assert not bench.routes.merges
