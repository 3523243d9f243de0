"""All-reduces as the library chooses them, beside measured rows."""

from statistics import mean

import pytest

from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import expanded
from sysmodel.config.system import load_system
from sysmodel.runs.collective_alone import simulate_collective
from t3.experiments.measured.comparison import compare
from t3.experiments.validation.measured_rows import measured_rows

MIB = 1 << 20


@pytest.mark.verify
@pytest.mark.parametrize("preset", ["h100", "h200", "b200"])
def test_rows_of_eight_gpus(preset):
    rows = [
        one
        for one in measured_rows().by_preset[preset]
        if one.kind == "all_reduce" and one.gpus == 8 and MIB <= one.message_bytes <= 512 * MIB
    ]
    shares = [abs(one.difference) for one in compare(load_system(preset), rows)]
    assert len(shares) >= 3
    assert mean(shares) <= 0.05
    assert max(shares) <= 0.12


def bus_gb_per_s(base, message_bytes):
    """Bus bandwidth of an all-reduce in the switch, from the line through two sizes of its kind."""
    large = message_bytes >= base.collective.in_switch.large_message_mib * MIB
    system = load_system(
        {"base": base.name, "collective.in_switch.large_message_mib": 0 if large else 1 << 20}
    )
    schedule = expanded(algorithm("in-switch").schedule("all-reduce", 8))
    sizes = 128 * MIB, 256 * MIB
    small_ns, large_ns = (
        simulate_collective(system, schedule, size, topology=system.topology, channels=4).time_ns
        for size in sizes
    )
    slope = (large_ns - small_ns) / (sizes[1] - sizes[0])
    time_ns = large_ns + slope * (message_bytes - sizes[1])
    return 1.75 * message_bytes / time_ns


@pytest.mark.verify
@pytest.mark.parametrize(
    ("preset", "mib", "measured"),
    [("h200", 128, 411), ("h200", 256, 442), ("h200", 16384, 480), ("b200", 16384, 838)],
)
def test_bus_bandwidths(preset, mib, measured):
    found = bus_gb_per_s(load_system(preset), mib * MIB)
    assert found == pytest.approx(measured, rel=0.05)
