"""Network alone: packets on every bundled topology, against routes, rates and closed forms."""

from collections import Counter

import numpy as np
import pytest

from sysmodel.collectives.schedule import Chunk, Expanded, Flow
from sysmodel.config.topology import load_topology, topology_names
from sysmodel.engine.ports import I
from sysmodel.network import routes
from sysmodel.network.load import load_of
from tests.support.network_bench import NetworkBench

_ALL = [
    (name, gpus)
    for name in topology_names()
    for gpus in (*range(2, 10), 16)
    if load_topology(name).fits(gpus) and (gpus < 10 or name in ("torus-2d", "h100-nodes"))
]
_CHANNELS = 4  # as many as nvswitch-8 has planes
_ATOM = 32


def _shuffled(gpus, count, seed, kinds=None):
    """Windows of random packets; each channel of a GPU sends to the same GPUs in another order."""
    print("seed", seed)
    random = np.random.default_rng(seed)
    of_gpu = random.integers(1, kinds or gpus, (gpus, 1, count))
    return random.permuted(np.repeat(of_gpu, _CHANNELS, axis=1), axis=2)


def _load(bench):
    """Bytes on each link by the load of a schedule with the same transfers."""
    gpus = bench.fabric.gpus
    flows, arrivals, sizes = [[] for _ in range(gpus)], Counter(), {}
    for g in range(gpus):
        for window, count in Counter(bench.windows[g][bench.sent[g]].tolist()).items():
            chunk = Chunk(window, source=g)
            to = (
                [(g + window) % gpus] if window < gpus else [(g + k) % gpus for k in range(1, gpus)]
            )
            flows[g].append(Flow(chunk, to=tuple(to), multicast=window == gpus))
            arrivals.update((chunk, peer) for peer in to)
            sizes[chunk] = count * _ATOM
    for chunk, peer in arrivals:
        flows[peer].append(Flow(chunk, own=False, arrivals=1, keeps=True))
    ranks = tuple(map(tuple, flows))
    schedule = Expanded("random", "send", gpus, 1, (False,), (ranks,))
    return load_of(bench.fabric, schedule, sizes.__getitem__).link_bytes


def _senders(bench, arrival):
    """Sender of each arrival, by the number of its packet."""
    return np.searchsorted(np.cumsum(bench.sent.sum(axis=(1, 2))), arrival.packet, side="right")


def _check_delivery(bench, arrival):
    """All packets arrive at their receivers, in the order of each pair and channel."""
    gpus = bench.fabric.gpus
    sender = _senders(bench, arrival)
    window = bench.windows[bench.sent][arrival.packet]
    to_all = window == gpus
    assert (arrival.gpu == (sender + window) % gpus)[~to_all].all()
    assert (arrival.gpu != sender).all()
    assert len(arrival.packet) == bench.expected
    assert len(set(zip(arrival.packet.tolist(), arrival.gpu.tolist(), strict=True))) == len(sender)
    places = np.nonzero(bench.sent)
    assert (arrival.channel == places[1][arrival.packet]).all()
    last = {}
    for key, number in zip(
        zip(sender, arrival.gpu, arrival.channel, strict=True), arrival.packet, strict=True
    ):
        assert number > last.get(key, -1)
        last[key] = number


@pytest.mark.parametrize(("name", "gpus"), _ALL)
def test_random_packets_arrive_once_in_order_over_their_links(name, gpus):
    bench = NetworkBench(name, gpus, _shuffled(gpus, 60, seed=gpus))
    arrival = bench.run(100_000)
    _check_delivery(bench, arrival)
    assert bench.link_bytes == list(_load(bench))
    state = bench.state
    assert not state.hop["count"].any() and not state.queue["count"].any()
    assert not state.channel["outstanding"].any() and state.fixed["queued"] == 0


@pytest.mark.parametrize("layers", [True, False])
@pytest.mark.parametrize(("name", "gpus", "far"), [("ring", 8, [1]), ("ring-both", 16, [7, 9])])
def test_forwarded_packets_never_wait_in_a_circle(name, gpus, far, layers, monkeypatch):
    """All GPUs send as far as possible, faster than the links; without layers, nothing arrives."""
    if not layers:
        monkeypatch.setattr(routes, "closing_steps", lambda ways: set())
    windows = np.random.default_rng(1).choice(far, (gpus, _CHANNELS, 600))
    bench = NetworkBench(name, gpus, windows, atoms_per_cycle=2)
    arrival = bench.run(20_000)
    assert len(arrival.packet) == (bench.expected if layers else 0)


@pytest.mark.parametrize(("name", "gpus"), _ALL)
def test_a_lone_packet_takes_the_latency_of_its_route(name, gpus):
    print("seed", gpus)
    pairs = [(g, k, c) for g in range(gpus) for k in range(1, gpus) for c in range(_CHANNELS)]
    for g, k, c in np.random.default_rng(gpus).choice(pairs, min(6, len(pairs)), replace=False):
        windows = np.full((gpus, _CHANNELS, 1), -1)
        windows[g, c, 0] = k
        bench = NetworkBench(name, gpus, windows, atoms_per_cycle=100)
        arrival = bench.run(10_000)
        route = bench.fabric.route(g, (g + k) % gpus, c)
        latency = sum(bench.capacity.latency_cycles[link] for link in route)
        assert arrival.cycle.tolist() == [latency]
        assert arrival.channel.tolist() == [c]


def test_a_near_packet_overtakes_one_from_far_away():
    """GPU 9's packet is on its last link, a long one, when GPU 0 sends over the node's switch."""
    windows = np.full((16, _CHANNELS, 1), -1)
    windows[9, 0, 0], windows[0, 0, 0] = 8, 1  # both to GPU 1
    bench = NetworkBench("h100-nodes", 16, windows, atoms_per_cycle=100)
    latency = bench.capacity.latency_cycles
    far, near = (bench.fabric.route(g, 1, 0) for g in (9, 0))
    windows[0, 0, 0] = -1
    bench.run(latency[far[0]] + 1)
    windows[0, 0, 0] = 1
    begin = bench.now
    arrival = bench.run(10_000)
    cycles = [begin + sum(latency[e] for e in near), sum(latency[e] for e in far)]
    assert arrival.cycle.tolist() == cycles == sorted(cycles)
    assert _senders(bench, arrival).tolist() == [0, 9]


@pytest.mark.parametrize(("name", "gpus"), _ALL)
def test_a_saturated_link_has_its_rate(name, gpus):
    """All GPUs send to GPU 0 without pause."""
    windows = np.repeat(np.arange(gpus, 0, -1), _CHANNELS * 4000).reshape(gpus, _CHANNELS, -1)
    windows[0] = -1
    bench = NetworkBench(name, gpus, windows)
    bench.run(1000)
    before = np.array(bench.link_bytes)
    bench.run(2000)
    rates, used = bench.state.link["rate_bytes"], bench.state.link["rate_bytes"] > 0
    sent = (np.array(bench.link_bytes) - before)[used] / 2000
    assert max(sent / rates[used]) == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize(
    ("name", "gpus"), [("switch", 8), ("nvswitch-8", 5), ("fully-connected", 6)]
)
def test_senders_to_one_gpu_have_equal_shares(name, gpus):
    windows = np.repeat(np.arange(gpus, 0, -1), _CHANNELS * 4000).reshape(gpus, _CHANNELS, -1)
    windows[0] = -1
    bench = NetworkBench(name, gpus, windows)
    arrival = bench.run(4000)
    counts = np.bincount(_senders(bench, arrival), minlength=gpus)[1:]
    assert counts.min() > 0.97 * counts.max() > 100


@pytest.mark.parametrize(
    ("name", "gpus"), [("switch", 5), ("nvswitch-8", 8), ("fully-connected", 5), ("mi300x", 8)]
)
def test_a_full_receiver_stops_its_senders_alone(name, gpus):
    """Channel 0 sends to GPU 0, the other channels to the others."""
    windows = np.zeros((gpus, _CHANNELS, 2000), np.int64)
    for g in range(gpus):
        for c in range(_CHANNELS):
            others = [k for k in range(1, gpus) if ((g + k) % gpus == 0) == (c == 0)]
            windows[g, c] = np.resize(others or [-1], 2000)
    bench = NetworkBench(name, gpus, windows)
    arrival = bench.run(10_000, full=(0,))
    waiting = int((bench.sent[:, 0]).sum())
    assert len(arrival.packet) == bench.expected - waiting
    assert (arrival.gpu > 0).all()
    places = bench.state.hop["most"][bench.state.hop["count"] > 0]
    assert 0 < waiting - bench.unsent.sum() <= places.sum()
    assert (bench.unsent[1:] > 0).all()
    assert bench.state.inputs[0, 0, I.link_in_valid] == 1
    _check_delivery(bench, bench.run(100_000))


@pytest.mark.parametrize("gpus", range(2, 9))
def test_a_multicast_reaches_each_gpu_once(gpus):
    bench = NetworkBench("nvswitch-8", gpus, _shuffled(gpus, 60, seed=gpus, kinds=gpus + 1))
    _check_delivery(bench, bench.run(100_000))
    assert (bench.windows == gpus).any()
    assert bench.link_bytes == list(_load(bench))


@pytest.mark.parametrize("name", ["ring", "switch", "fully-connected", "h100-nodes"])
def test_multicast_needs_switches_that_copy(name):
    gpus = 16 if name == "h100-nodes" else 4
    windows = np.full((gpus, _CHANNELS, 1), gpus)
    bench = NetworkBench(name, gpus, windows)
    assert not bench.routes.multicasts
    assert len(bench.run(1000).packet) == 0
