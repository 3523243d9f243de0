"""Collectives by sums in switches: times against closed forms, bytes, and small tables."""

import pytest

from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import expanded
from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.lib.errors import InputError
from sysmodel.network.records import MOST_SUMS
from sysmodel.runs.collective_alone import simulate_collective

SYSTEM = load_system("asplos24")
FILL_NS = 2500.0  # first loads, hardware, and the last stores


def run(operation, gpus, message_bytes, topology="nvswitch", **more):
    schedule = expanded(algorithm("in-switch").schedule(operation, gpus))
    return simulate_collective(
        SYSTEM, schedule, message_bytes, topology=load_topology(topology), **more
    )


# Chunks on a port, by operation: N, N - 1 and N + 1.
CHUNKS = {"reduce-scatter": 0, "all-gather": -1, "all-reduce": 1}


@pytest.mark.parametrize("gpus", [2, 4, 8])
@pytest.mark.parametrize("operation", CHUNKS)
def test_the_time_is_that_of_the_bytes_on_a_port(operation, gpus):
    """An all-reduce takes (N + 1) c / B, not the sum of its halves."""
    size = gpus << 21
    found = run(operation, gpus, size)
    chunks = gpus + CHUNKS[operation]
    wire_ns = chunks * size / gpus / SYSTEM.link.bandwidth_gb_per_s
    least = wire_ns + SYSTEM.link.latency_ns + SYSTEM.gpu.kernel_launch_ns
    assert found.bound_ns <= found.time_ns
    assert least <= found.time_ns <= 1.06 * wire_ns + least - wire_ns + FILL_NS


def test_gpus_move_the_bytes_of_the_closed_form():
    """Every run compares each GPU's bytes with the schedule's, and these with the form."""
    found = run("all-reduce", 8, 1 << 21)
    chunk = (1 << 21) // 8
    assert (found.sent_bytes, found.read_bytes) == (9 * chunk, 9 * chunk)
    assert found.written_bytes == 8 * chunk


def test_switches_hold_few_sums_however_large_the_message_is():
    """At most two batches of each wavefront of each GPU wait for those of other GPUs."""
    library, size = SYSTEM.collective, 1 << 25
    waves = SYSTEM.collective_cus * library.waves_per_cu
    in_flight = 4 * 2 * waves * library.bytes_in_flight_per_wave
    held = 32 * run("all-reduce", 4, size).sums_in_switches
    assert 0 < held <= min(in_flight, size // 4)
    assert held < 32 * MOST_SUMS * SYSTEM.dram.channels


@pytest.mark.parametrize("gpus", [3, 5, 7])
def test_any_number_of_gpus_and_any_size(gpus):
    found = run("all-reduce", gpus, 300_001, topology="nvswitch-8")
    assert found.bound_ns <= found.time_ns


def test_a_few_channels_represent_all():
    few, whole = (
        run("all-reduce", 4, 1 << 22, channels=channels) for channels in (4, SYSTEM.dram.channels)
    )
    assert few.time_ns == pytest.approx(whole.time_ns, rel=0.03)


@pytest.mark.parametrize("operation", ["reduce-scatter", "all-reduce"])
def test_a_plain_switch_is_refused(operation):
    with pytest.raises(InputError, match="topology: switch has no switch that adds the packets"):
        run(operation, 4, 1 << 20, topology="switch")
