"""Fabrics: links of each topology, and routes that are shortest, repeatable and allowed."""

import pytest

from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.lib.errors import InputError
from sysmodel.network.expansion import expand
from sysmodel.network.fabric import DirectedLink, Fabric

_LINK = load_system("h100").link
_NUMBERS = (2, 3, 4, 5, 6, 7, 8, 12, 16, 64)


def fabric(source, gpus):
    return expand(load_topology(source), gpus, _LINK)


def _ways(made):
    """Every route, with its source, its destination and its channel."""
    for source in range(made.gpus):
        for destination in range(made.gpus):
            for channel in range(made.planes):
                yield source, destination, channel, made.route(source, destination, channel)


def _check(made):
    """Each route begins at its source, ends at its destination, and repeats no vertex."""
    for source, destination, channel, route in _ways(made):
        ends = [(made.links[one].source, made.links[one].target) for one in route]
        vertices = [source, *(target for _, target in ends)]
        assert vertices[-1] == destination
        assert [begin for begin, _ in ends] == vertices[:-1]
        assert len(set(vertices)) == len(vertices)
        assert made.route(source, destination, channel + made.planes) == route


@pytest.mark.parametrize("gpus", _NUMBERS)
def test_a_ring_in_one_direction(gpus):
    ring = fabric("ring", gpus)
    assert [(link.source, link.target) for link in ring.links] == [
        (gpu, (gpu - 1) % gpus) for gpu in range(gpus)
    ]
    assert {link.values for link in ring.links} == {_LINK}
    assert ring.planes == 1
    _check(ring)
    for source, destination, _, route in _ways(ring):
        assert len(route) == (source - destination) % gpus


@pytest.mark.parametrize("gpus", _NUMBERS)
def test_a_ring_in_both_directions_takes_the_shorter_way(gpus):
    ring = fabric("ring-both", gpus)
    assert len(ring.links) == 2 * gpus
    assert {link.values.bandwidth_gb_per_s for link in ring.links} == {225}
    _check(ring)
    for source, destination, _, route in _ways(ring):
        assert len(route) == min((source - destination) % gpus, (destination - source) % gpus)
    if gpus % 2 == 0:  # channels divide the packets for the opposite GPU
        ways = {ring.route(0, gpus // 2, channel) for channel in range(4)}
        assert len(ways) == 2


@pytest.mark.parametrize("gpus", _NUMBERS)
def test_in_a_full_mesh_no_gpu_forwards(gpus):
    mesh = fabric("fully-connected", gpus)
    assert len(mesh.links) == gpus * (gpus - 1)
    assert mesh.links[0].values.bandwidth_gb_per_s == pytest.approx(450 / (gpus - 1))
    _check(mesh)
    assert {len(route) for source, to, _, route in _ways(mesh) if source != to} == {1}


def test_an_mi300x_has_links_of_64_gb_per_s_whatever_their_number():
    for gpus in (2, 5, 8):
        made = fabric("mi300x", gpus)
        assert {link.values.bandwidth_gb_per_s for link in made.links} == {64}


@pytest.mark.parametrize("gpus", _NUMBERS)
def test_a_switch_has_the_rate_and_the_latency_of_the_system(gpus):
    switch = fabric("switch", gpus)
    assert len(switch.links) == 2 * gpus and len(switch.switches) == 1
    assert {link.values.bandwidth_gb_per_s for link in switch.links} == {450}
    _check(switch)
    for source, destination, _, route in _ways(switch):
        assert switch.latency_ns(route) == (250 if source != destination else 0)


def test_a_switch_takes_part_of_the_latency_of_the_system():
    switch = fabric({"base": "switch", "switch.latency_ns": 100}, 4)
    assert [link.latency_ns for link in switch.links] == [75] * 4 + [175] * 4
    slow = fabric({"base": "switch", "switch.latency_ns": 300}, 4)
    assert [link.latency_ns for link in slow.links] == [0] * 4 + [300] * 4


def test_a_channel_has_its_plane():
    switch = fabric("nvswitch-8", 8)
    assert switch.planes == len(switch.switches) == 4
    _check(switch)
    for source, destination, channel, route in _ways(switch):
        if source != destination:
            assert [switch.links[one].target for one in route] == [8 + channel, destination]
            assert switch.latency_ns(route) == 250
    assert switch.links[switch.route(0, 1)[1]].queue_bytes == 32768
    assert switch.links[switch.route(0, 1)[0]].queue_bytes is None


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (2, 3), (4, 1), (2, 2, 3), (4, 3, 2), (4, 4, 4)])
def test_a_torus_goes_the_shortest_way_along_one_dimension_after_the_other(sizes):
    gpus = 1
    for size in sizes:
        gpus *= size
    torus = fabric({"base": "torus-2d", "sizes": sizes}, gpus)
    assert len(torus.links) == gpus * sum(2 for size in sizes if size > 1)
    _check(torus)
    for source, destination, _, route in _ways(torus):
        expected, one, two = 0, source, destination
        for size in sizes:
            distance = (one % size - two % size) % size
            expected += min(distance, size - distance)
            one, two = one // size, two // size
        assert len(route) == expected
        dimensions = [torus.links[link].dimension for link in route]
        assert dimensions == sorted(dimensions)


@pytest.mark.parametrize("gpus", [16, 24, 64])
def test_rails_are_reached_inside_the_node(gpus):
    nodes = fabric("h100-nodes", gpus)
    count = gpus // 8
    assert len(nodes.switches) == 4 * count + 8
    _check(nodes)
    for source, destination, _, route in _ways(nodes):
        crossed = [nodes.links[one].between_nodes for one in route]
        same_node, same_rail = source // 8 == destination // 8, source % 8 == destination % 8
        assert crossed == [False, False] * (not same_rail) + [True, True] * (not same_node)


def test_one_node_has_no_network():
    assert not any(link.between_nodes for link in fabric("h100-nodes", 8).links)


@pytest.mark.parametrize("inside", ["ring", "ring-both", "fully-connected", "torus"])
def test_a_network_that_joins_all_gpus_serves_no_pair_inside_a_node(inside):
    if inside == "torus":
        inside = {"base": "torus-2d", "sizes": [4, 2]}
    change = {"inside": inside, "between": "switch", "forwards": False}
    nodes = fabric({"base": "h100-nodes", **change}, 24)
    _check(nodes)
    for source, destination, _, route in _ways(nodes):
        crossed = [nodes.links[one].between_nodes for one in route]
        if source // 8 == destination // 8:
            assert not any(crossed)
        else:
            assert crossed == [True, True]


@pytest.mark.parametrize(
    ("source", "gpus", "pair"),
    [("ring", 8, (3, 1)), ("ring-both", 8, (3, 1)), ("torus-2d", 16, (0, 5))]
    + [("h100-nodes", 16, (3, 12))],
)
def test_a_pair_without_a_way_is_named(source, gpus, pair):
    made = fabric({"base": source, "forwards": False}, gpus)
    assert made.route(0, gpus - 1 if gpus == 8 else 8 if source == "h100-nodes" else 3)
    with pytest.raises(InputError) as caught:
        made.route(*pair)
    assert str(caught.value) == (
        f"topology: custom has no way from GPU {pair[0]} to GPU {pair[1]}; allowed: "
        "a topology with forwards = true, or fewer GPUs"
    )


def test_gpus_forward_between_the_given_dimensions_only():
    """The nearest way from 0 to 2 would change the dimension at GPU 1."""
    ends = ((0, 1, 0), (1, 2, 1), (1, 3, 0), (3, 2, 0))
    links = [DirectedLink(source, target, _LINK, dimension) for source, target, dimension in ends]
    assert Fabric("bent", 4, links, forwarding={(0, 0)}).route(0, 2) == (0, 2, 3)
    assert Fabric("bent", 4, links, forwarding={(0, 0), (0, 1)}).route(0, 2) == (0, 1)


def test_a_gpu_that_does_not_exist():
    with pytest.raises(ValueError, match="there is no GPU 8 among 8"):
        fabric("ring", 8).route(0, 8)


def test_a_number_of_gpus_that_does_not_fit():
    with pytest.raises(InputError, match="gpus: 12 is not allowed; torus-2d allows 4 x 4"):
        fabric("torus-2d", 12)


def test_senders_have_payloads_of_their_own():
    (link, *_) = fabric("ring", 2).links
    assert link.payload_bytes_per_ns("stores") == pytest.approx(450 * 0.81)
    assert link.payload_bytes_per_ns("t3") == pytest.approx(450 * 256 / 277)
