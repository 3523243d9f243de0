"""Links for a rate and a latency."""

from dataclasses import replace
from math import ceil

import pytest

from rtl.link.sizing import fit_link, fit_ports, round_trip_cycles
from rtl.parameters import T3Parameters
from tb.link_endpoint.wire import Faults
from tests.support.shared_link import Shared

P = T3Parameters(channels=32)


@pytest.mark.parametrize(
    ("channels", "rate", "links"),
    [
        (32, 4.6875, 8),  # 150 GB/s of 32 B at 1 GHz: 6.8 channels for one flit per cycle
        (32, 32, 32),
        (32, 0.5, 1),
        (32, 1, 1),
        (32, 1.01, 2),
        (8, 4.6875, 2),  # a quarter of the channels has a quarter of the link
        (1, 4.6875, 1),
        (30, 4.6875, 5),
    ],
)
def test_endpoints(channels, rate, links):
    """The fit uses as few endpoints as carry the rate, each for the same number of channels."""
    p = replace(P, channels=channels)
    link = fit_link(p, packets_per_cycle=rate, latency_cycles=500)
    assert link.channels * links == channels and link.contexts == p.contexts


def test_depths():
    """The depth covers the channel's share of a round trip, and a granule of the interleave."""
    link = fit_link(P, packets_per_cycle=4.6875, latency_cycles=500)
    assert round_trip_cycles(4, 500) == 18 + 2 * 500 + 3 * (8 + 1) + 7
    depth = ceil(4.6875 / 32 * 1052) + 8
    assert link.replay_depth == link.receive_depth == depth + 1 == 164
    assert link.timeout_cycles > 1052 + 2 * link.idle_cycles


@pytest.mark.parametrize("rate", [0, -1, 32.5])
def test_refused(rate):
    with pytest.raises(ValueError, match=rf"packets_per_cycle must be .* at most 32, not {rate}"):
        fit_link(P, packets_per_cycle=rate, latency_cycles=500)


@pytest.mark.parametrize(
    ("fewer", "runs", "is_full"), [(0, 0, True), (0, 0.95, True), (24, 0, False)]
)
def test_rate(fewer, runs, is_full):
    """The rule's depths are enough for the link's rate, with long frames and with short ones, and
    little more than that."""
    latency, rate, channels = 40, 0.9, 3
    p = replace(P, channels=channels, system_channels=4, contexts=2)
    link = fit_link(p, packets_per_cycle=rate * 4 / 3, latency_cycles=latency)
    assert link.channels == channels
    depth = link.replay_depth - fewer
    link = replace(link, replay_depth=depth, receive_depth=depth, lifetime_cycles=128)
    cycles = 600

    async def bench(pair):
        pair.set_rates(1, 1)
        await pair.step(300)
        before = sum(pair.received())
        await pair.step(cycles)
        full = sum(pair.received()) - before >= 0.97 * rate * cycles
        assert full == is_full

    # The wire takes a flit in so many cycles.
    Shared(7, Faults(latency=latency, busy=1 - rate), link=link, one_way=True, runs=runs).run(bench)


@pytest.mark.parametrize(
    ("channels", "rate", "ports", "lanes"),
    [(32, 4.6875, 7, 8), (32, 7, 7, 8), (32, 1, 3, 1), (30, 4.6875, 5, 5), (4, 3.5, 4, 4)],
)
def test_ports(channels, rate, ports, lanes):
    """A port has its share of the rate, and the lanes carry the rate of all ports."""
    p = replace(P, channels=channels, system_channels=channels)
    link, found = fit_ports(p, packets_per_cycle=rate, latency_cycles=500, ports=ports)
    assert found == lanes and link.channels == 1 and link.contexts == p.contexts
    depth = ceil(rate / ports * (round_trip_cycles(1, 500) + 9)) + p.interleave_atoms
    assert link.replay_depth == link.receive_depth == depth + depth % 2


def test_ports_that_are_too_slow():
    with pytest.raises(ValueError, match=r"packets_per_cycle must be .* at most 4, not 4.6875"):
        fit_ports(P, packets_per_cycle=4.6875, latency_cycles=500, ports=4)
