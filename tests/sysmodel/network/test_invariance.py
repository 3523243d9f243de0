"""Invariance of topologies and schedules under groups, where it holds and where it does not."""

from dataclasses import replace
from itertools import product

import pytest

from sysmodel.collectives import direct, ring
from sysmodel.collectives.group import Group, powers_of_two
from sysmodel.collectives.schedule import Chunk, Expanded, Flow, expanded
from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.network.expansion import expand
from sysmodel.network.fabric import DirectedLink, Fabric
from sysmodel.network.invariance import why_not_invariant

_LINK = load_system("h100").link


def _fabric(source, gpus):
    return expand(load_topology(source), gpus, _LINK)


@pytest.mark.parametrize(
    ("topology", "gpus", "group"),
    [("ring", n, Group((n,))) for n in (2, 3, 5, 6, 7, 8, 12, 16, 32)]
    + [("ring-both", n, Group((n,))) for n in (2, 3, 6, 8, 12)]
    + [("fully-connected", n, Group((n,))) for n in (2, 3, 5, 6, 7, 8, 12, 16)]
    + [("switch", n, Group((n,))) for n in (2, 3, 5, 6, 7, 8, 12, 16, 64)]
    + [("fully-connected", n, powers_of_two(n)) for n in (2, 4, 8, 16)]
    + [("switch", n, powers_of_two(n)) for n in (2, 4, 8, 16)]
    + [("nvswitch-8", n, powers_of_two(n)) for n in (2, 4, 8)]
    + [("mi300x", 8, Group((8,))), ("mi300x", 8, Group((4, 2)))]
    + [("torus-2d", 16, Group((4, 4))), ("torus-3d", 64, Group((4, 4, 4)))]
    + [("h100-nodes", n, Group((8, n // 8))) for n in (8, 16, 24)],
    ids=str,
)
def test_topologies_that_are_invariant(topology, gpus, group):
    assert why_not_invariant(_fabric(topology, gpus), group) is None


def _differs(one, two, reason):
    return f"the way from GPU {one}, shifted by 1, is not that from GPU {two}: {reason}"


@pytest.mark.parametrize(
    ("topology", "gpus", "group", "reason"),
    [
        ("ring", 8, powers_of_two(8), _differs("0 to 1", "1 to 0", "it has 1 links, not 7")),
        ("h100-nodes", 16, Group((16,)), _differs("0 to 7", "1 to 8", "it has 4 links, not 2")),
        ("torus-2d", 16, Group((16,)), _differs("0 to 3", "1 to 4", "it has 2 links, not 1")),
        (
            "ring-both",
            4,
            powers_of_two(4),
            _differs(
                "0 to 2",
                "1 to 3",
                "link 1 from 0 to 1 and link 0 from 0 to 3 would both be link 2 from 1 to 0",
            ),
        ),
        ("ring", 8, Group((4,)), "the group has 4 ranks, ring 8 GPUs"),
    ],
    ids=str,
)
def test_topologies_that_are_not(topology, gpus, group, reason):
    assert why_not_invariant(_fabric(topology, gpus), group) == reason


def _brute_force(fabric, group):
    """Test every element of the group, with vertices and values in place of link numbers."""
    for shift in range(1, fabric.gpus):
        image = {}
        for source, to, channel in product(
            range(fabric.gpus), range(fabric.gpus), range(fabric.planes)
        ):
            way = fabric.route(source, to, channel)
            other = fabric.route(group.add(source, shift), group.add(to, shift), channel)
            if [fabric.links[one].values for one in way] != [
                fabric.links[one].values for one in other
            ]:
                return False
            if any(image.setdefault(a, b) != b for a, b in zip(way, other, strict=True)):
                return False
        if len(set(image.values())) != len(image):
            return False
    return True


@pytest.mark.parametrize("topology", ["ring", "ring-both", "fully-connected", "switch", "nodes"])
@pytest.mark.parametrize("sizes", [(4,), (2, 2), (6,), (2, 3), (3, 2), (8,), (4, 2), (2, 2, 2)])
def test_generators_say_the_same_as_all_elements(topology, sizes):
    group = Group(sizes)
    source = topology
    if topology == "nodes":
        source = {"base": "h100-nodes", "gpus_per_node": 2, "inside": "ring"}
    fabric = _fabric(source, group.ranks)
    assert (why_not_invariant(fabric, group) is None) == _brute_force(fabric, group)


def test_a_slow_link_is_named():
    right = _fabric("ring", 4)
    slow = _LINK.model_copy(update={"bandwidth_gb_per_s": 100.0})
    links = [*right.links[:2], DirectedLink(2, 1, slow), *right.links[3:]]
    made = Fabric("patched", 4, links, forwarding=right.forwarding)
    assert why_not_invariant(made, Group((4,))) == _differs(
        "0 to 1",
        "1 to 2",
        "link 2 from 2 to 1 has 100 GB/s and 250 ns, link 3 from 3 to 2 has 450 GB/s and 250 ns",
    )


def test_a_switch_that_differs_is_named():
    plain = load_topology("switch").switch
    short = plain.model_copy(update={"queue_bytes": 64})
    links = [
        link
        for vertex, switch in ((4, plain), (5, short))
        for gpu in (vertex - 4, vertex - 2)
        for link in (
            DirectedLink(gpu, vertex, _LINK),
            DirectedLink(vertex, gpu, _LINK, switch=switch),
        )
    ]
    made = Fabric("rails", 4, links, (plain, short))
    assert why_not_invariant(made, Group((2, 2))) == _differs(
        "0 to 2", "1 to 3", "link 0 from 0 to 4 and link 4 from 1 to 5 have unlike switches"
    )
    equal = [replace(link, switch=link.switch and plain) for link in links]
    assert why_not_invariant(Fabric("rails", 4, equal, (plain, plain)), Group((2, 2))) is None


def test_a_way_that_is_missing_is_named():
    made = Fabric("line", 3, [DirectedLink(0, 1, _LINK), DirectedLink(1, 2, _LINK)])
    assert why_not_invariant(made, Group((3,))) == _differs(
        "1 to 2", "2 to 0", "one of them does not exist"
    )


def test_a_link_with_two_images_is_named():
    """Channels share the link there, and have a link each back."""
    links = [DirectedLink(*ends, _LINK) for ends in ((0, 1), (1, 0), (1, 0))]
    assert why_not_invariant(Fabric("lopsided", 2, links, planes=2), Group((2,))) == _differs(
        "0 to 1",
        "1 to 0",
        "link 0 from 0 to 1 would be both link 1 from 1 to 0 and link 2 from 1 to 0",
    )


def test_a_schedule_is_compared_where_it_sends():
    """A ring needs no way to distant GPUs, but on nodes its ways differ at the ends of a node."""
    nodes = _fabric("h100-nodes", 16)
    schedule = expanded(ring.ALGORITHM.schedule("reduce-scatter", 16))
    reason = why_not_invariant(nodes, Group((16,)), schedule)
    assert reason == _differs("0 to 15", "1 to 0", "it has 2 links, not 4")
    assert why_not_invariant(_fabric("ring", 16), Group((16,)), schedule) is None
    one_way = _fabric({"base": "ring", "forwards": False}, 16)
    assert why_not_invariant(one_way, Group((16,)), schedule) is None


@pytest.mark.parametrize("gpus", [3, 8])
def test_a_schedule_that_is_not_invariant(gpus):
    fabric = _fabric("switch", gpus)
    schedule = expanded(direct.ALGORITHM.schedule("all-to-all", gpus))
    assert why_not_invariant(fabric, Group((gpus,)), schedule) is None
    if gpus == 8:  # the order of sending is that of +1, +2, ...
        assert why_not_invariant(fabric, powers_of_two(8), schedule) == (
            "in stage 0 of direct, rank 1 does other than rank 0, shifted by 1"
        )
    broadcast = Expanded(
        "broadcast",
        "send",
        gpus,
        1,
        (False,),
        ((((Flow(Chunk(0), to=tuple(range(1, gpus)))),), *((),) * (gpus - 1)),),
    )
    assert why_not_invariant(fabric, Group((gpus,)), broadcast) == (
        "in stage 0 of broadcast, rank 1 does other than rank 0, shifted by 1"
    )
    assert why_not_invariant(_fabric("switch", gpus + 1), Group((gpus + 1,)), broadcast) == (
        f"the schedule has {gpus} ranks, switch {gpus + 1} GPUs"
    )
