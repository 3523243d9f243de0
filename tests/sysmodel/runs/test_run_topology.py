"""Runs on several topologies: times against closed forms, the mirror, and refusals."""

import pytest

from sysmodel.config.system import load_system, preset_names, system_on
from sysmodel.lib.errors import InputError
from sysmodel.network.expansion import expand
from sysmodel.runs.check import check
from sysmodel.runs.check_options import CheckOptions
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.run_network import RunNetwork
from sysmodel.runs.simulate import simulate
from tests.support.small_system import scaled, small_system, workload

SYSTEM = small_system()
B, A = SYSTEM.link.bandwidth_gb_per_s, SYSTEM.link.latency_ns
LAUNCH = SYSTEM.gpu.kernel_launch_ns
NODES = {"base": "h100-nodes", "gpus_per_node": 2, "inside": "ring", "link.bandwidth_gb_per_s": 5}
NODES |= {"link.latency_ns": 100, "link.stores_payload_share": 1, "link.t3_overhead_bytes": 0}


def run(topology, gpus=4, *, system=SYSTEM, mirror="mirror", configurations=("sequential", "t3")):
    options = RunOptions(
        engine="golden", channels="all", gpus=mirror, configurations=configurations
    )
    work = workload(512, 96 * gpus, 64, gpus)
    return simulate(Plan(work, system_on(system, topology), options), counts_clocks=False)


def chunk_bytes(gpus):
    return 512 * 96 * 2


# Topology, GPUs, rate and latency of the way to the neighbour, and the rate of the library.
CASES = [
    ("ring", 4, B, A, B),
    ("switch", 4, B, A, B),
    ("switch", 3, B, A, B),
    ({"base": "switch", "switch.latency_ns": 300}, 4, B, A, B),
    ("fully-connected", 4, B / 3, A, 2 * B / 3),
    ("fully-connected", 5, B / 4, A, B),
    ("fully-connected-8", 3, B / 7, A, 2 * B / 7),
    ("ring-both", 4, B / 2, A, B),
]


@pytest.mark.parametrize(("topology", "gpus", "rate", "latency", "library"), CASES)
def test_an_all_gather_takes_its_time_on_the_wire(topology, gpus, rate, latency, library):
    """(N - 1) (c / B + a): T3 over the way to its neighbour, the library over its links."""
    found = run(topology, gpus).configurations
    for name, wire in (("t3", rate), ("sequential", library)):
        steps_ns = (gpus - 1) * (chunk_bytes(gpus) / wire + latency)
        # Beyond the wire: the first loads of each step, and here the start of copies.
        assert steps_ns <= found[name].ns["ag"] <= 1.05 * steps_ns + LAUNCH + 1500 * (gpus - 1)


@pytest.mark.parametrize(
    ("topology", "reason"),
    [
        ({"base": "torus-2d", "sizes": [2, 2]}, "the way from GPU "),
        (NODES, "the way from GPU "),
        ("fully-connected", "in stage 0 of multi-ring, rank 1 does other than rank 0"),
        ("ring-both", "bidirectional sends to several neighbours"),
    ],
)
def test_every_gpu_is_simulated_where_one_cannot_represent_all(topology, reason):
    result = run(topology)
    assert result.gpus == "all" and result.every_gpu_because.startswith(reason)
    network = RunNetwork(result.system, 4)
    least_ns = 3 * chunk_bytes(4) / network.slowest_gb_per_s
    assert result.configurations["t3"].ns["rs"] >= 0.9 * least_ns


def test_one_gpu_stands_for_all_on_a_switch():
    times = {}
    for mirror in ("mirror", "all"):
        result = run("switch", mirror=mirror)
        assert result.gpus == mirror and result.every_gpu_because is None
        times[mirror] = {name: one.total_ns for name, one in result.configurations.items()}
    assert times["mirror"] == pytest.approx(times["all"], rel=0.01)


def test_a_result_says_its_topology_and_who_uses_which_links():
    given = run("fully-connected", 5, configurations=("sequential",)).as_dict()
    assert given["system"]["topology"]["name"] == "fully-connected"
    assert given["network"] == {
        "algorithm": "multi-ring",
        "t3_links": 1,
        "t3_gb_per_s": pytest.approx(B / 4),
        "library_links": 4,
        "library_gb_per_s": pytest.approx(B),
    }


def test_links_that_t3_does_not_use_are_named():
    mi300x = RunNetwork(load_system("mi300x"), 8)
    assert mi300x.unused == (
        "T3 sends to one neighbour: over 1 of the 7 links of a GPU that the library's multi-ring "
        "uses, at 64 of 448 GB/s."
    )
    assert RunNetwork(load_system("h200"), 8).unused is None


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_keeps_its_latency_from_gpu_to_gpu(name):
    system = load_system(name)
    fabric = expand(system.topology, 8, system.link)
    for peer in range(1, 8) if system.topology.kind != "ring" else (7,):
        assert fabric.latency_ns(fabric.route(0, peer)) == system.link.latency_ns
    leaving = [fabric.links[one].values.bandwidth_gb_per_s for one in fabric.leaving[0]]
    assert sum(leaving) == system.link.bandwidth_gb_per_s
    if name == "mi300x":
        assert leaving == [64] * 7


def test_the_system_names_another_algorithm():
    system = scaled(system_on(SYSTEM, "switch"), collective={"algorithm": "halving-doubling"})
    found = run(None, system=system, configurations=("sequential",)).configurations["sequential"]
    # Two steps instead of three, and as many bytes.
    steps_ns = 3 * chunk_bytes(4) / B + 2 * A
    assert steps_ns <= found.ns["ag"] <= 1.05 * steps_ns + LAUNCH + 3000


@pytest.mark.parametrize(
    ("topology", "gpus", "message"),
    [
        ("torus-2d", 8, "tp: 8 is not allowed; torus-2d allows 4 x 4; the next is 16"),
        ("mi300x", 9, "tp: 9 is not allowed; mi300x allows 2 to 8; the largest is 8"),
        (
            {"base": "h100-nodes", "forwards": False},
            16,
            "topology: custom has no way from GPU 0 to GPU 15",
        ),
        (
            {"base": "switch", "algorithm": "rings"},
            4,
            "topology custom: algorithm: 'rings' is not known; allowed: bidirectional, direct",
        ),
        (
            {"base": "switch", "algorithm": "Send"},
            4,
            "topology custom: algorithm: 'send' does no reduce-scatter; allowed: bidirectional",
        ),
        (
            {"base": "switch", "algorithm": "halving-doubling"},
            6,
            "tp: 6 is not allowed; allowed: a power of two (algorithm halving-doubling)",
        ),
        (
            {"base": "switch", "algorithm": "hierarchical"},
            5,
            "tp: 5 is not allowed; allowed: several nodes of several: 4, 6, 8, 9, ... (algorithm ",
        ),
    ],
)
def test_topologies_that_do_not_fit_a_run_are_refused_before_it(topology, gpus, message):
    with pytest.raises(InputError) as error:
        Plan(workload(512, 96 * gpus, 64, gpus), system_on(SYSTEM, topology), RunOptions())
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "problem"),
    [("rings", "'rings' is not known; "), ("multicast", "'multicast' does no reduce-scatter; ")],
)
def test_an_error_names_the_key_of_the_system_that_gives_the_algorithm(name, problem):
    system = scaled(system_on(SYSTEM, "switch"), collective={"algorithm": name})
    with pytest.raises(InputError) as error:
        RunNetwork(system, 4)
    able = "bidirectional, direct, halving-doubling, hierarchical, in-switch, multi-ring, ring"
    assert str(error.value) == f"collective.algorithm: {problem}allowed: {able}"


def test_a_check_passes_on_a_switch_and_refuses_what_does_not_fit():
    size = {"m": 256, "n": 128, "k": 64, "engine": "golden"}
    assert check(CheckOptions(gpus=2, topology="switch", **size), lambda *_: None).passed
    with pytest.raises(InputError, match="gpus: 3 is not allowed; torus-2d allows"):
        check(CheckOptions(gpus=3, topology="torus-2d", **size), lambda *_: None)


def test_the_rates_are_those_of_the_slowest_links_on_the_way():
    """Rings of four GPUs in two nodes: one link in two leads through the network of 5 GB/s."""
    network = RunNetwork(system_on(SYSTEM, NODES), 4)
    assert network.as_dict()["t3_gb_per_s"] == network.as_dict()["library_gb_per_s"] == 5
    timeline = run(NODES, configurations=("t3",)).timelines["t3"]
    assert timeline.link_gb_per_s == 5


def test_the_busiest_link_of_a_library_that_uses_links_unequally():
    """Halving-doubling of four ranks sends two of three chunks over one of three links."""
    mesh = {"base": "fully-connected", "algorithm": "halving-doubling"}
    found = RunNetwork(system_on(SYSTEM, mesh), 4).as_dict()
    assert found["library_links"] == 2
    assert found["library_gb_per_s"] == pytest.approx(3 / 2 * B / 3)
