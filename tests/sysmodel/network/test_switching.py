"""Load of sums in switches on the links, and topologies whose switches make none."""

import pytest

from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import expanded
from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.lib.errors import InputError
from sysmodel.network.expansion import expand
from sysmodel.network.load import load_of
from sysmodel.network.switching import require_switches, switches_merge

LINK = load_system("h200").link
CHUNK = 1 << 20


def fabric_of(topology, gpus=8):
    return expand(load_topology(topology), gpus, LINK)


def schedule_of(operation, gpus=8):
    return expanded(algorithm("in-switch").schedule(operation, gpus))


@pytest.mark.parametrize("topology", ["nvswitch", "nvswitch-8"])
@pytest.mark.parametrize(
    ("operation", "up", "down"),
    [("reduce-scatter", 8, 1), ("all-gather", 1, 7), ("all-reduce", 9, 8)],
)
def test_bytes_on_every_link(topology, operation, up, down):
    fabric = fabric_of(topology)
    load = load_of(fabric, schedule_of(operation), CHUNK)
    for number, sent in enumerate(load.link_bytes):
        chunks = up if fabric.is_gpu(fabric.links[number].source) else down
        assert sent == chunks * CHUNK / fabric.planes


@pytest.mark.parametrize(
    ("operation", "chunks"), [("reduce-scatter", 8), ("all-gather", 7), ("all-reduce", 9)]
)
def test_bound_by_hand(operation, chunks):
    load = load_of(fabric_of("nvswitch"), schedule_of(operation), CHUNK)
    expected = chunks * CHUNK / LINK.bandwidth_gb_per_s + LINK.latency_ns
    assert load.bound_ns("line") == pytest.approx(expected)


@pytest.mark.parametrize("gpus", [2, 5, 8])
def test_topologies_whose_switches_add(gpus):
    for name in ("nvswitch", "nvswitch-8"):
        assert switches_merge(fabric_of(name, gpus))
        require_switches(fabric_of(name, gpus), schedule_of("all-reduce", gpus))


@pytest.mark.parametrize("name", ["ring", "switch", "fully-connected", "torus-2d", "h100-nodes"])
def test_topologies_without_such_switches_are_refused(name):
    fabric = fabric_of(name, 16)
    assert not switches_merge(fabric)
    message = f"topology: {name} has no switch that adds the packets of all GPUs; allowed for "
    with pytest.raises(InputError, match=f"{message}in-switch: switches with reduces = true"):
        require_switches(fabric, schedule_of("reduce-scatter", 16))


def test_a_switch_that_only_adds_cannot_gather():
    fabric = fabric_of({"base": "nvswitch", "switch.multicasts": False})
    require_switches(fabric, schedule_of("reduce-scatter"))
    with pytest.raises(InputError, match="no switch that copies packets to all GPUs"):
        require_switches(fabric, schedule_of("all-reduce"))
