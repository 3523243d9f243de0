"""Collective alone against the closed form of a ring, and samples against all channels."""

import pytest

from sysmodel.config.system import load_system
from sysmodel.lib.errors import InputError
from sysmodel.runs.collective_alone import OPERATIONS, message_limits, simulate_collective

SYSTEM = load_system("asplos24")
GPUS = 4
MESSAGE = 1 << 22


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_large_message_takes_its_time_on_the_wire(operation):
    wire_us = (GPUS - 1) * MESSAGE / GPUS / SYSTEM.link.bandwidth_gb_per_s / 1e3
    latencies_us = ((GPUS - 1) * SYSTEM.link.latency_ns + SYSTEM.gpu.kernel_launch_ns) / 1e3
    found = simulate_collective(SYSTEM, operation, MESSAGE, GPUS)
    assert wire_us + latencies_us < found < 1.3 * wire_us + latencies_us + 5


def test_a_few_channels_represent_all():
    few, whole = (
        simulate_collective(SYSTEM, "reduce_scatter", MESSAGE, GPUS, channels=channels)
        for channels in (4, SYSTEM.dram.channels)
    )
    assert few == pytest.approx(whole, rel=0.03)


def test_any_size_is_cut_into_chunks():
    sizes = [message_limits(3)[0], 10_001, 700_000]
    times = [simulate_collective(SYSTEM, "all_gather", size, 3) for size in sizes]
    assert times == sorted(times)


def test_a_rack_of_72_gpus_takes_the_latency_of_71_steps():
    found = simulate_collective(SYSTEM, "all_gather", message_limits(72)[0], 72)
    latencies_us = (71 * SYSTEM.link.latency_ns + SYSTEM.gpu.kernel_launch_ns) / 1e3
    assert latencies_us < found < 2 * latencies_us


@pytest.mark.parametrize(
    "message_bytes,gpus,message",
    [
        (1 << 20, 1, "gpus: 1 is not allowed; allowed: 2 to 72"),
        (1 << 20, 73, "gpus: 73 is not allowed; allowed: 2 to 72"),
        (2047, 4, "bytes: 2047 is not allowed; allowed for 4 GPUs: 2048 to 1073741824"),
        ((1 << 30) + 1, 4, "bytes: 1073741825 is not allowed"),
    ],
)
def test_messages_that_cannot_be_cut(message_bytes, gpus, message):
    with pytest.raises(InputError, match=message):
        simulate_collective(SYSTEM, "all_gather", message_bytes, gpus)
