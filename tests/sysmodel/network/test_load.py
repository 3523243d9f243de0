"""Load of schedules on fabrics, against the closed forms of bytes and time."""

import pytest

from sysmodel.collectives import direct, ring
from sysmodel.collectives.group import Group
from sysmodel.collectives.schedule import Chunk, Expanded, Flow, Schedule, Stage, expanded
from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.lib.errors import InputError
from sysmodel.network.expansion import expand
from sysmodel.network.load import load_of

_LINK = load_system("h100").link
_RATE = _LINK.t3_gb_per_s
_C = 12_288  # bytes of a chunk: a multiple of the planes
_NUMBERS = (2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64)


def _load(topology, algorithm, operation, gpus):
    fabric = expand(load_topology(topology), gpus, _LINK)
    return fabric, load_of(fabric, expanded(algorithm.ALGORITHM.schedule(operation, gpus)), _C)


@pytest.mark.parametrize("operation", ["reduce-scatter", "all-gather"])
@pytest.mark.parametrize("gpus", _NUMBERS)
def test_a_ring_sends_all_chunks_but_one_over_every_link(gpus, operation):
    fabric, load = _load("ring", ring, operation, gpus)
    assert load.link_bytes == ((gpus - 1) * _C,) * gpus
    (stage,) = load.stages
    assert stage.chain_ns == (gpus - 1) * _LINK.latency_ns
    bandwidth = (gpus - 1) * _C / _RATE + _LINK.latency_ns
    assert stage.bound_ns("t3") == pytest.approx(max(bandwidth, stage.chain_ns))
    # A ring that waits for whole chunks takes this long; the bound stays below.
    assert load.bound_ns("t3") <= (gpus - 1) * (_C / _RATE + _LINK.latency_ns)


@pytest.mark.parametrize("operation", ["reduce-scatter", "all-gather", "all-to-all"])
@pytest.mark.parametrize("gpus", _NUMBERS)
def test_direct_collectives_on_a_switch(gpus, operation):
    """Ports carry all chunks but one, each way, and a packet crosses two links."""
    fabric, load = _load("switch", direct, operation, gpus)
    assert load.link_bytes == ((gpus - 1) * _C,) * (2 * gpus)
    way_ns = 2 * fabric.links[0].latency_ns
    assert load.bound_ns("t3") == pytest.approx((gpus - 1) * _C / _RATE + way_ns)


@pytest.mark.parametrize("operation", ["reduce-scatter", "all-gather", "all-to-all"])
@pytest.mark.parametrize("gpus", [2, 3, 5, 6, 7, 8])
def test_planes_divide_the_bytes(gpus, operation):
    _, load = _load("nvswitch-8", direct, operation, gpus)
    assert load.link_bytes == ((gpus - 1) * _C / 4,) * (8 * gpus)
    seconds = (gpus - 1) * _C / (450 * 256 / 277) + 250
    assert load.bound_ns("t3") == pytest.approx(seconds)


@pytest.mark.parametrize("operation", ["reduce-scatter", "all-gather", "all-to-all"])
@pytest.mark.parametrize("gpus", _NUMBERS)
def test_direct_collectives_on_a_full_mesh(gpus, operation):
    """Each of N - 1 links carries one chunk at 1/(N - 1) of the port's rate."""
    _, load = _load("fully-connected", direct, operation, gpus)
    assert load.link_bytes == (_C,) * (gpus * (gpus - 1))
    assert load.bound_ns("t3") == pytest.approx((gpus - 1) * _C / _RATE + _LINK.latency_ns)


@pytest.mark.parametrize("gpus", _NUMBERS)
def test_a_ring_on_a_full_mesh_uses_one_link_of_each_gpu(gpus):
    """The ring then has 1/(N - 1) of the port: (N - 1)^2 c/B."""
    _, load = _load("fully-connected", ring, "reduce-scatter", gpus)
    assert sorted(set(load.link_bytes), reverse=True)[0] == (gpus - 1) * _C
    assert sum(map(bool, load.link_bytes)) == gpus
    stage = load.stages[0]
    busy = stage.busy_ns(stage.busiest("t3"), "t3")
    assert busy == pytest.approx((gpus - 1) ** 2 * _C / _RATE)


@pytest.mark.parametrize("gpus", _NUMBERS)
def test_an_all_to_all_on_a_ring_in_one_direction(gpus):
    _, load = _load("ring", direct, "all-to-all", gpus)
    assert load.link_bytes == (gpus * (gpus - 1) // 2 * _C,) * gpus
    bandwidth = gpus * (gpus - 1) / 2 * _C / _RATE + _LINK.latency_ns
    assert load.bound_ns("t3") == pytest.approx(max(bandwidth, (gpus - 1) * _LINK.latency_ns))


@pytest.mark.parametrize("gpus", _NUMBERS)
def test_an_all_to_all_on_a_ring_in_both_directions(gpus):
    """The sum of all distances, over two links for each GPU; channels share the opposite GPU."""
    _, load = _load("ring-both", direct, "all-to-all", gpus)
    distances = sum(min(d, gpus - d) for d in range(1, gpus))
    assert load.link_bytes == (distances * _C / 2,) * (2 * gpus)


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (2, 3), (8, 2), (4, 4, 4)])
def test_an_all_to_all_on_a_torus(sizes):
    """Along a dimension of size s, every link carries N/s times an all-to-all of a ring."""
    gpus = 1
    for size in sizes:
        gpus *= size
    fabric, load = _load({"base": "torus-2d", "sizes": sizes}, direct, "all-to-all", gpus)
    for link, sent in zip(fabric.links, load.link_bytes, strict=True):
        size = sizes[link.dimension]
        distances = sum(min(d, size - d) for d in range(1, size))
        assert sent == gpus // size * distances * _C / 2


@pytest.mark.parametrize("nodes", [2, 3, 5, 8])
def test_an_all_to_all_on_rails(nodes):
    """A rail carries the bytes for one place of all other nodes, from all GPUs of the node."""
    gpus = 8 * nodes
    fabric, load = _load("h100-nodes", direct, "all-to-all", gpus)
    for link, sent in zip(fabric.links, load.link_bytes, strict=True):
        assert sent == (8 * (nodes - 1) * _C if link.between_nodes else 7 * nodes * _C / 4)


def _hierarchical(per_node, nodes):
    """Reduce-scatter inside the nodes, whose results are reduce-scattered between them."""
    group = Group((per_node, nodes))
    places = [[group.rank((place, node)) for node in range(nodes)] for place in range(per_node)]
    inside = [
        *(
            Flow(Chunk(owner), to=(places[p][0],))
            for p in range(1, per_node)
            for owner in places[p]
        ),
        *(Flow(Chunk(owner), arrivals=per_node - 1, keeps=True) for owner in places[0]),
    ]
    between = [
        *(Flow(Chunk(owner), to=(owner,)) for owner in places[0][1:]),
        Flow(Chunk(0), arrivals=nodes - 1, keeps=True),
    ]
    stages = (Stage(True, tuple(inside)), Stage(True, tuple(between)))
    return Schedule("hierarchical", "reduce-scatter", group, stages)


@pytest.mark.parametrize(("per_node", "nodes"), [(8, 2), (8, 8), (4, 3), (2, 6), (3, 4)])
def test_a_hierarchical_reduce_scatter(per_node, nodes):
    """(A - 1)/A S inside a node, (M - 1)/(AM) S between nodes."""
    gpus = per_node * nodes
    whole = gpus * _C
    topology = {"base": "h100-nodes", "gpus_per_node": per_node}
    fabric = expand(load_topology(topology), gpus, _LINK)
    load = load_of(fabric, expanded(_hierarchical(per_node, nodes)), _C)
    inside, between = (
        {bool(link.between_nodes): sent for link, sent in zip(fabric.links, one, strict=True)}
        for one in (stage.link_bytes for stage in load.stages)
    )
    assert inside == {False: (per_node - 1) / per_node * whole / 4, True: 0}
    assert between == {False: 0, True: (nodes - 1) / gpus * whole}
    seconds = (
        (per_node - 1) / per_node * whole / (450 * 256 / 277) + 250,
        (nodes - 1) / gpus * whole / (50 * 256 / 298) + 2700,
    )
    for stage, expected in zip(load.stages, seconds, strict=True):
        assert stage.bound_ns("t3") == pytest.approx(expected)
    assert load.bound_ns("t3") == pytest.approx(max(seconds))


def _multicast(gpus):
    own = Flow(Chunk(0), to=tuple(range(1, gpus)), keeps=True, multicast=True)
    others = (Flow(Chunk(owner), own=False, arrivals=1, keeps=True) for owner in range(1, gpus))
    stage = Stage(False, (own, *others))
    return expanded(Schedule("multicast", "all-gather", Group((gpus,)), (stage,)))


@pytest.mark.parametrize("gpus", [2, 3, 5, 6, 7, 8])
def test_a_switch_that_multicasts_takes_one_packet_for_all(gpus):
    """A chunk goes out, and all other chunks come in."""
    for name, out in (("nvswitch-8", 1 / 4), ("switch", gpus - 1)):
        fabric = expand(load_topology(name), gpus, _LINK)
        load = load_of(fabric, _multicast(gpus), _C)
        for link, sent in zip(fabric.links, load.link_bytes, strict=True):
            arriving = (gpus - 1) / fabric.planes
            assert sent == (out if fabric.is_gpu(link.source) else arriving) * _C


def test_gpus_copy_no_packet():
    fabric = expand(load_topology("ring"), 5, _LINK)
    assert load_of(fabric, _multicast(5), _C).link_bytes == (10 * _C,) * 5


def test_a_chain_follows_the_latest_arrival():
    """A GPU waits for a near and a distant GPU, in either order, then sends to the next."""
    fabric = expand(load_topology("ring"), 6, _LINK)
    for near, far in ((1, 4), (4, 1)):
        waits, ends = (0, 5) if near == 1 else (3, 2)
        flows = {near: [Flow(Chunk(0), to=(waits,))], far: [Flow(Chunk(0), to=(waits,))]}
        flows[waits] = [Flow(Chunk(0), own=False, arrivals=2, to=(ends,))]
        flows[ends] = [Flow(Chunk(0), own=False, arrivals=1, keeps=True)]
        ranks = tuple(tuple(flows.get(rank, ())) for rank in range(6))
        schedule = Expanded("fork", "send", 6, 1, (True,), (ranks,))
        assert load_of(fabric, schedule, _C).stages[0].chain_ns == 5 * _LINK.latency_ns


def test_stages_add_up():
    _, load = _load("switch", direct, "all-reduce", 8)
    assert len(load.stages) == 2
    assert load.link_bytes == (14 * _C,) * 16
    assert load.bound_ns("stores") == pytest.approx(14 * _C / (450 * 0.81) + 250)


def test_chunks_of_different_sizes():
    fabric = expand(load_topology("switch"), 3, _LINK)
    schedule = expanded(direct.ALGORITHM.schedule("all-to-all", 3))
    load = load_of(fabric, schedule, lambda chunk: 100 * chunk.source + chunk.owner)
    leaving = load.link_bytes[:3]
    assert leaving == (1 + 2, 100 + 0 + 100 + 2, 200 + 0 + 200 + 1)


def test_a_schedule_that_needs_a_missing_way_is_refused():
    fabric = expand(load_topology({"base": "ring", "forwards": False}), 4, _LINK)
    with pytest.raises(InputError, match="custom has no way from GPU 0 to GPU 1"):
        load_of(fabric, expanded(direct.ALGORITHM.schedule("all-to-all", 4)), _C)


def test_packets_that_wait_for_each_other_are_refused():
    stage = Stage(True, (Flow(Chunk(0), arrivals=1, to=(1,)), Flow(Chunk(1), arrivals=0)))
    schedule = expanded(Schedule("circle", "send", Group((2,)), (stage,)))
    fabric = expand(load_topology("switch"), 2, _LINK)
    with pytest.raises(ValueError, match="stage 0: rank 0 waits forever"):
        load_of(fabric, schedule, _C)
    with pytest.raises(ValueError, match="a schedule of 2 ranks on 3 GPUs"):
        load_of(expand(load_topology("switch"), 3, _LINK), schedule, _C)
