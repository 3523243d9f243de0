import numpy as np
import pytest

from sysmodel.machine.machine import Machine
from sysmodel.machine.tiling import kernel_of
from sysmodel.machine.until import UNTIL_GEMM
from sysmodel.runs.samples import timeline_of
from sysmodel.runs.timeline import Span
from tests.support.small_system import small_system


@pytest.fixture
def machine():
    system = small_system()
    kernel = kernel_of(system, 512, 192, 256, 2)
    with Machine(system, kernel, engine="golden", channels=2, mirror=True) as one:
        # From the finest on, so that a short run fills the table.
        one.state.fixed["sample_interval"] = 1
        yield one


@pytest.mark.parametrize("cycles", [100, 2047, 2048, 2049, 5000, 30_001])
def test_number_of_samples_is_bounded_and_the_interval_doubles(machine, cycles):
    machine.state.fixed["work"] = 0
    machine.idle(cycles)
    most = len(machine.state.samples)
    count, interval = (int(machine.state.fixed[f"sample_{n}"][0]) for n in ("count", "interval"))
    expected = 1
    while -(-cycles // expected) > most:
        expected *= 2
    assert interval == expected
    assert count == -(-cycles // interval) <= most
    # No sample is missing, and all are at equal distances from the start.
    times = machine.state.samples["time"][:count]
    assert np.array_equal(times, interval * np.arange(count))


def test_samples_are_the_counts_at_their_time(machine):
    seen = {}
    for _ in range(8):
        machine.idle(640)
        gpu = machine.state.gpu[0]
        seen[machine.now] = {way: gpu[way].tolist() for way in ("reads", "writes")}
    fixed = machine.state.fixed[0]
    assert fixed["sample_interval"] > 1
    samples = machine.state.samples[: fixed["sample_count"]]
    times = samples["time"].tolist()
    compared = 0
    for now, accesses in seen.items():
        if now in times:
            compared += 1
            sample = samples[times.index(now)]
            assert {way: sample[way].tolist() for way in accesses} == accesses
    assert compared >= 6
    assert accesses["reads"][machine.activity] > 0


def test_timeline_adds_up_to_the_counts(machine):
    machine.run(UNTIL_GEMM)
    gpu = machine.state.gpu[0]
    machine.idle(2 * int(machine.state.fixed["sample_interval"][0]) + 1)
    spans = [Span("gemm", "GEMM", 0.0, 1.0)]
    timeline = timeline_of(machine, spans, 0, names=("gemm", "rs"), link_gb_per_s=25)
    interval = int(machine.state.fixed["sample_interval"][0])
    assert timeline.spans == spans and timeline.link_gb_per_s == 25
    assert timeline.bucket_ns == interval * machine.system.cycle_ns
    whole = 32 * machine.system.dram.channels / machine.channels
    for name, counter in (("gemm read", "reads"), ("gemm write", "writes")):
        series = timeline.series[f"DRAM {name} (bytes/ns)"]
        count = gpu[counter][machine.activity]
        assert count > 0
        assert (series * timeline.bucket_ns).sum() == pytest.approx(count * whole)
    finished = timeline.series["workgroups finished (per us)"] * timeline.bucket_ns / 1e3
    assert finished.sum() == pytest.approx(machine.kernel.workgroups)
    assert not timeline.series["link (bytes/ns)"].any()
    queue = timeline.series["DRAM queue, channel 0 (entries)"]
    assert 0 < queue.max() <= machine.system.dram.queue_depth
    assert {len(series) for series in timeline.series.values()} == {
        int(machine.state.fixed["sample_count"][0]) - 1
    }


def test_timeline_may_begin_later(machine):
    machine.run(UNTIL_GEMM)
    whole, later = (
        timeline_of(machine, [], zero, names=("gemm", "rs"), link_gb_per_s=25).series
        for zero in (0, machine.now // 2)
    )
    for name, series in later.items():
        assert 0 < len(series) < 0.6 * len(whole[name])
        assert np.array_equal(series, whole[name][-len(series) :])
