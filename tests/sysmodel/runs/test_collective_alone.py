"""Collective alone against closed forms on several topologies, and samples against the whole."""

import pytest

from sysmodel.collectives.registry import algorithm, algorithms
from sysmodel.collectives.schedule import expanded
from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.lib.errors import InputError
from sysmodel.runs.collective_alone import simulate_collective
from sysmodel.runs.collective_buffer import message_limits
from sysmodel.runs.collective_result import bus_factor

SYSTEM = load_system("asplos24")
GPUS = 4
_RATE_OF_SUMS = 0.4  # of the memory's peak
MESSAGE = 1 << 22


def run(name, operation, *, topology="ring", gpus=GPUS, message_bytes=MESSAGE, **more):
    schedule = expanded(algorithm(name).schedule(operation, gpus))
    return simulate_collective(
        SYSTEM, schedule, message_bytes, topology=load_topology(topology), **more
    )


def expected_ns(*, chunks, steps, message_bytes=MESSAGE, gpus=GPUS, operations=1):
    """Time in which a port sends some chunks in steps that wait for each other."""
    launch_ns = SYSTEM.gpu.kernel_launch_ns
    wire_ns = chunks * message_bytes / gpus / SYSTEM.link.bandwidth_gb_per_s
    return launch_ns + wire_ns + steps * SYSTEM.link.latency_ns


# Chunks that leave the busiest port, and steps, by the theory of each algorithm.
CASES = [
    ("ring", "reduce-scatter", "ring", 3, 3),
    ("ring", "all-gather", "ring", 3, 3),
    ("ring", "all-reduce", "ring", 6, 6),
    ("ring", "all-to-all", "ring", 6, 3),
    ("ring", "reduce-scatter", "switch", 3, 3),
    ("direct", "reduce-scatter", "switch", 3, 1),
    ("direct", "all-gather", "switch", 3, 1),
    ("direct", "all-to-all", "switch", 3, 1),
    ("direct", "all-to-all", "fully-connected", 3, 1),
    ("direct", "reduce-scatter", "fully-connected", 3, 1),
    ("halving-doubling", "reduce-scatter", "switch", 3, 2),
    ("halving-doubling", "all-gather", "switch", 3, 2),
    ("multicast", "all-gather", "nvswitch-8", None, 1),
    ("bidirectional", "all-gather", "ring-both", 3, 3),
    ("send", "send", "switch", 4, 1),
]


@pytest.mark.parametrize(("name", "operation", "topology", "chunks", "steps"), CASES)
def test_a_collective_takes_its_time_on_the_wire(name, operation, topology, chunks, steps):
    found = run(name, operation, topology=topology)
    assert found.bound_ns <= found.time_ns
    if chunks is not None:
        least = expected_ns(chunks=chunks, steps=steps)
        # Beyond the wire: the first loads of each step, and the sum of the owned chunk, whose
        # operands lie in the same banks of the memory, so that each block opens its row.
        sum_ns = (GPUS + 1) * MESSAGE / GPUS / SYSTEM.dram_bytes_per_ns / _RATE_OF_SUMS
        most = 1.05 * least + 1500 * steps + (sum_ns if "reduce" in operation else 0)
        assert least <= found.time_ns <= most
    schedule = expanded(algorithm(name).schedule(operation, GPUS))
    assert found.name == schedule.name


def test_bandwidths_are_those_of_nccl_tests():
    found = run("ring", "all-reduce")
    assert found.algorithm_gb_per_s == pytest.approx(MESSAGE / found.time_ns)
    assert found.bus_gb_per_s == pytest.approx(MESSAGE / found.time_ns * 2 * 3 / 4)
    assert bus_factor("all-to-all", 8) == bus_factor("all-gather", 8) == 7 / 8
    assert bus_factor("send", 8) == 1


@pytest.mark.parametrize("gpus", [2, 3, 5, 6, 7])
def test_any_number_of_gpus(gpus):
    for name in ("ring", "direct"):
        for operation in algorithm(name).operations:
            found = run(name, operation, topology="switch", gpus=gpus, message_bytes=1 << 20)
            assert found.bound_ns <= found.time_ns


@pytest.mark.verify  # a minute
def test_hierarchical_on_nodes():
    """With the memory of asplos24: for deeper queues the cycle loop would be compiled once more."""
    schedule = expanded(algorithm("hierarchical").schedule("reduce-scatter", 16, 8))
    found = simulate_collective(
        load_system("asplos24"), schedule, 1 << 24, topology=load_topology("h100-nodes")
    )
    assert found.bound_ns <= found.time_ns <= 2 * found.bound_ns + 100_000


def test_a_few_channels_represent_all():
    few, whole = (
        run("ring", "reduce-scatter", channels=channels) for channels in (4, SYSTEM.dram.channels)
    )
    assert few.time_ns == pytest.approx(whole.time_ns, rel=0.03)


def test_channels_that_do_not_represent_all():
    small = message_limits(GPUS)[0]
    with pytest.raises(InputError, match="channels: 1 is not allowed; allowed for .*: 32"):
        run("ring", "all-gather", message_bytes=small, channels=1)
    with pytest.raises(InputError, match="channels: 3 is not allowed; allowed for .*: 1, 2, 4, 8"):
        run("ring", "all-gather", channels=3)


def test_any_size_is_cut_into_chunks():
    sizes = [message_limits(3, "all-gather")[0], 10_001, 700_000]
    found = [run("ring", "all-gather", gpus=3, message_bytes=size).time_ns for size in sizes]
    assert found == sorted(found)


def test_a_rack_of_72_gpus_takes_the_latency_of_71_steps():
    least = message_limits(72, "all-gather")[0]
    found = run("ring", "all-gather", gpus=72, message_bytes=least)
    latencies_ns = 71 * SYSTEM.link.latency_ns + SYSTEM.gpu.kernel_launch_ns
    assert latencies_ns < found.time_ns < 2 * latencies_ns


@pytest.mark.parametrize(
    ("message_bytes", "gpus", "message"),
    [
        (2047, 4, "bytes: 2047 is not allowed; allowed for 4 GPUs: 2048 to 1073741824"),
        ((1 << 30) + 1, 4, "bytes: 1073741825 is not allowed"),
        (1 << 20, 100, "ranks: 100 is not allowed; allowed: 2 to 72"),
    ],
)
def test_messages_that_cannot_be_cut(message_bytes, gpus, message):
    with pytest.raises(InputError, match=message):
        run("ring", "all-gather", gpus=gpus, message_bytes=message_bytes)


def test_topology_without_a_link_that_the_schedule_needs():
    with pytest.raises(InputError, match="topology: custom has no way from GPU"):
        run("direct", "all-to-all", topology={"base": "ring", "forwards": False})


def test_topology_without_a_switch_that_copies():
    with pytest.raises(InputError, match="topology: switch has no switch that copies packets"):
        run("multicast", "all-gather", topology="switch")


def test_an_uneven_all_to_all_takes_the_time_of_its_busiest_port():
    """Rank 0 sends three times as much as any other rank, and nothing to rank 1."""
    sizes = [[(3 if s == 0 else 1) << 18 | 1000 * r for r in range(GPUS)] for s in range(GPUS)]
    sizes[0][1] = 0
    schedule = expanded(algorithm("direct").schedule("all-to-all", GPUS))
    found = simulate_collective(SYSTEM, schedule, sizes, topology=load_topology("switch"))
    sent = sizes[0][2] + sizes[0][3]
    assert found.operation == "all-to-all-v"
    assert found.message_bytes == sum(sizes[0])
    assert sent <= found.sent_bytes < sent + 32 * GPUS
    least = SYSTEM.gpu.kernel_launch_ns + sent / SYSTEM.link.bandwidth_gb_per_s
    assert least <= found.time_ns <= 1.02 * least + SYSTEM.link.latency_ns + 1000


@pytest.mark.parametrize("name", ["direct", "ring"])
def test_an_all_to_all_of_equal_sizes_is_one_of_equal_chunks(name):
    schedule = expanded(algorithm(name).schedule("all-to-all", GPUS))
    chunk = 1 << 18
    of_bytes, of_sizes = (
        simulate_collective(SYSTEM, schedule, message, topology=load_topology("switch"))
        for message in (GPUS * chunk, [[chunk] * GPUS] * GPUS)
    )
    assert of_sizes.time_ns == of_bytes.time_ns
    assert of_sizes.sent_bytes == of_bytes.sent_bytes


@pytest.mark.parametrize("name", sorted(algorithms()))
def test_every_algorithm_runs_on_a_switch_that_copies(name):
    for operation in algorithm(name).operations:
        found = run(name, operation, topology="nvswitch-8", message_bytes=1 << 20)
        assert found.bound_ns <= found.time_ns
