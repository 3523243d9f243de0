"""Lower bound of a schedule's time, against an event model of packets on the same fabric."""

import pytest

from sysmodel.collectives import direct, ring
from sysmodel.collectives.schedule import expanded
from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.network.expansion import expand
from sysmodel.network.load import load_of
from tests.support.packet_network import transfer_ns

_LINK = load_system("h100").link
_CHUNK, _PACKETS = 4 << 20, 48


def _times(topology, algorithm, operation, gpus):
    """Bound, and time of the event model."""
    fabric = expand(load_topology(topology), gpus, _LINK)
    schedule = expanded(algorithm.ALGORITHM.schedule(operation, gpus))
    bound = load_of(fabric, schedule, _CHUNK).bound_ns("t3")
    return bound, transfer_ns(fabric, schedule, 0, _CHUNK, _PACKETS)


@pytest.mark.parametrize("gpus", [2, 3, 5, 6, 7, 8, 12])
@pytest.mark.parametrize(
    ("topology", "algorithm", "operation"),
    [
        ("ring", ring, "reduce-scatter"),
        ("ring", ring, "all-gather"),
        ("switch", direct, "reduce-scatter"),
        ("switch", direct, "all-to-all"),
        ("fully-connected", direct, "reduce-scatter"),
        ("fully-connected", direct, "all-gather"),
        ("fully-connected", ring, "reduce-scatter"),
        ("ring", direct, "all-to-all"),
    ],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_the_bound_is_reached(topology, algorithm, operation, gpus):
    """Packets fill the pipe: at most one packet for each link of the longest chain is added."""
    bound, time = _times(topology, algorithm, operation, gpus)
    assert bound <= time * (1 + 1e-9)
    assert time <= bound * 1.05 + gpus * _LINK.latency_ns


@pytest.mark.parametrize(
    ("topology", "gpus"),
    [("ring-both", 6), ("ring-both", 7), ("torus-2d", 16), ("nvswitch-8", 8), ("h100-nodes", 16)],
)
@pytest.mark.parametrize("operation", ["reduce-scatter", "all-to-all"])
def test_no_time_is_below_the_bound(topology, operation, gpus):
    bound, time = _times(topology, direct, operation, gpus)
    assert bound <= time * (1 + 1e-9)
    assert time < 2 * bound
