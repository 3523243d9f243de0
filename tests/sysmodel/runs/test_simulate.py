"""The main job: T-NLG FC-2 on 8 GPUs, and closed forms that it must meet."""

import dataclasses
import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from sysmodel.config.model import workload_of
from sysmodel.config.system import load_system
from sysmodel.engine.hardware import hardware_parameters
from sysmodel.lib.errors import InputError
from sysmodel.runs.collective_kernels import LAST_ADDITION
from sysmodel.runs.configurations.sequential import sequential
from sysmodel.runs.options import DEFAULT_CONFIGURATIONS, RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from sysmodel.runs.timeline import MOST_BUCKETS
from sysmodel.runs.tuned_library import library_efficiency
from tests.support.small_system import context_of, scaled, small_system, workload

GPUS = 8
T3 = ("t3", "t3-mca", "t3-critical")
CHUNK = 8192 * 4256 * 2 // GPUS  # bytes of the output that end up on one GPU
# T3's GEMM writes its first chunk to another GPU, not to its memory, so that it may be a little
# faster than alone.
_LEAST_SLOWDOWN = 0.999


@pytest.fixture(scope="module")
def tnlg():
    work = workload_of("t-nlg", "fc2", GPUS)
    return simulate(Plan(work, load_system(), RunOptions(engine="golden")))


def test_sequential_moves_the_bytes_of_the_closed_form(tnlg):
    moved = tnlg.configurations["sequential"].dram_bytes
    assert moved.write["gemm"] == GPUS * CHUNK
    assert moved.write["rs"] == GPUS * CHUNK
    assert moved.read["rs"] == (2 * GPUS - 1) * CHUNK
    assert moved.read["ag"] == moved.write["ag"] == (GPUS - 1) * CHUNK


@pytest.mark.parametrize("name", T3)
def test_t3_moves_the_bytes_of_the_closed_form(tnlg, name):
    moved = tnlg.configurations[name].dram_bytes
    assert moved.write["gemm"] == (GPUS - 1) * CHUNK
    assert moved.write["rs"] == (GPUS - 1) * CHUNK
    assert moved.read["rs"] == (GPUS - 2) * CHUNK
    assert moved.read["ag"] == moved.write["ag"] == (GPUS - 1) * CHUNK


@pytest.mark.parametrize("name", DEFAULT_CONFIGURATIONS)
def test_every_configuration_sends_each_chunk_but_one_twice(tnlg, name):
    sent = tnlg.configurations[name].link_bytes
    assert sent.payload == dict.fromkeys(("rs", "ag"), (GPUS - 1) * CHUNK)


def test_overlap_helps_and_no_more_than_the_ideal(tnlg):
    total = {name: one.total_ns for name, one in tnlg.configurations.items()}
    assert total["ideal-rs-nmc"] <= total["ideal-overlap"] < total["sequential"]
    for name in T3:
        assert _LEAST_SLOWDOWN * total["ideal-rs-nmc"] < total[name] < total["sequential"]
    assert total["t3-critical"] <= 1.01 * min(total["t3"], total["t3-mca"])


def test_contention_slows_the_gemm_but_little(tnlg):
    for name in T3:
        assert _LEAST_SLOWDOWN < tnlg.configurations[name].gemms["gemm"].slowdown < 1.1


def test_times_add_up(tnlg):
    for one in tnlg.configurations.values():
        assert one.exposed_communication_ns == pytest.approx(one.total_ns - one.ns["gemm"])
        hidden = one.ns["rs"] + one.ns["ag"] - one.exposed_communication_ns
        assert one.overlapped_communication_ns == pytest.approx(max(0, hidden))


def test_gemm_efficiency_is_near_a_tuned_library(tnlg):
    assert tnlg.efficiencies["gemm"] == pytest.approx(library_efficiency(2128), abs=0.10)


def test_timeline_is_bounded_and_counts_the_bytes(tnlg):
    timeline = tnlg.timelines["t3"]
    assert 0 < len(timeline.series["link (bytes/ns)"]) <= MOST_BUCKETS
    sent = timeline.series["link (bytes/ns)"].sum() * timeline.bucket_ns
    # The samples end up to one interval before the last packet.
    assert sent == pytest.approx(2 * (GPUS - 1) * CHUNK, rel=0.01)
    assert {span.track for span in timeline.spans} >= {"GEMM", "Communication"}


def test_rtl_and_golden_engine_give_the_same_result(tnlg):
    options = RunOptions(engine="rtl", configurations=("t3-mca",))
    rtl = simulate(Plan(tnlg.workload, tnlg.system, options))
    assert rtl.configurations["t3-mca"] == tnlg.configurations["t3-mca"]


@pytest.mark.parametrize("bandwidth", [75.0, 150.0])
@pytest.mark.parametrize("gpus", [2, 4, 8, 16])
def test_ring_steps_take_the_closed_form_time(gpus, bandwidth):
    system = scaled(load_system(), link={"bandwidth_gb_per_s": bandwidth})
    work = workload(8192, 4256, 64, gpus)
    options = RunOptions(engine="golden", configurations=("sequential",))
    phases = sequential(context_of(work, system, options))
    chunk = work.output_bytes / gpus
    steps = (gpus - 1) * (chunk / bandwidth + system.link.latency_ns)
    last = next(span for span in phases.timeline.spans if span.track == "Last addition")
    assert last.name == LAST_ADDITION
    last_ns = last.end_ns - last.start_ns
    assert phases.cycles["rs"] - last_ns == pytest.approx(steps, rel=0.03)
    assert phases.cycles["ag"] == pytest.approx(steps, rel=0.03)
    # Two chunks read and one written: no faster than the memory's peak, and not slower than the
    # slowest mixed traffic of the independent DRAM simulators (0.49 of the peak).
    peak_ns = 3 * chunk / system.dram_bytes_per_ns
    assert peak_ns <= last_ns <= peak_ns / 0.49


def test_more_link_latency_costs_its_share_of_every_step():
    system = small_system()
    options = RunOptions(engine="golden", configurations=("sequential",), channels="all")
    work = workload(1024, 768, 64, 4)
    near, far = (
        sequential(context_of(work, scaled(system, link={"latency_ns": ns}), options))
        for ns in (500.0, 5500.0)
    )
    assert far.cycles["ag"] - near.cycles["ag"] == pytest.approx(3 * 5000, rel=0.03)


def test_a_ring_that_one_gpu_cannot_represent_is_simulated_whole():
    options = RunOptions(engine="golden", channels="all")
    assert options.gpus == "mirror"
    assert Plan(workload(1024, 768, 64, 4), small_system(), options).mirror
    assert not Plan(workload(1024, 800, 64, 7), small_system(), options).mirror


def test_a_tracker_too_small_for_a_workgroup_is_refused():
    system = scaled(small_system(), t3={"tracker_sets": 1, "tracker_banks": 1, "tracker_ways": 3})
    with pytest.raises(InputError, match="chunk of 16 workgroups exceeds the 0"):
        simulate(
            Plan(
                workload(1024, 768, 64, 4),
                system,
                RunOptions(engine="golden", channels="all", configurations=("t3",)),
            )
        )


@pytest.mark.parametrize(
    "gemm",
    [
        "--m 1024 --n 1024 --k 256 --tp 4".split(),
        pytest.param([], id="t-nlg", marks=pytest.mark.verify),
    ],
)
def test_memory_and_files_of_the_command(gemm, tmp_path):
    script = (
        "import re, sys; sys.argv = ['t3', *sys.argv[1:]]\n"
        "from t3.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        # The peak of getrusage would begin with that of the parent process.
        "status = open('/proc/self/status').read()\n"
        "print(re.search('VmHWM: *\\t* *([0-9]+)', status)[1], file=sys.stderr)\n"
    )
    arguments = ["run", *gemm, "--engine", "golden", "--out", str(tmp_path / "out"), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True, text=True, check=True, env=os.environ,
    )  # fmt: skip
    printed = json.loads(done.stdout)
    assert printed == json.loads((tmp_path / "out" / "result.json").read_text())
    rivals = {"cu-split-8", "cu-split-16", "two-batch"}  # on a ring
    assert set(printed["configurations"]) == set(DEFAULT_CONFIGURATIONS) | rivals
    assert int(done.stderr.split()[-1]) * 1024 < 2e9
    trace = json.loads((tmp_path / "out" / "timeline.json").read_text())
    assert trace["traceEvents"]


def test_memory_does_not_grow_with_time():
    system = small_system()
    options = RunOptions(engine="golden", configurations=("sequential",), channels="all")
    short, long = (context_of(workload(1024, 768, k, 4), system, options) for k in (64, 2048))
    results = [sequential(context) for context in (short, long)]
    assert results[1].simulated_cycles > 2 * results[0].simulated_cycles
    for one in results:
        sizes = [len(samples) for samples in one.timeline.series.values()]
        assert max(sizes) <= MOST_BUCKETS


def test_result_is_reproducible():
    options = RunOptions(engine="golden", channels="all", configurations=("t3-mca",))
    work, system = workload(1024, 768, 128, 4), small_system()
    first, second = (simulate(Plan(work, system, options)) for _ in range(2))
    assert first.configurations == second.configurations
    assert dataclasses.asdict(first.configurations["t3-mca"])
    assert np.array_equal(
        first.timelines["t3-mca"].series["link (bytes/ns)"],
        second.timelines["t3-mca"].series["link (bytes/ns)"],
    )


def test_a_context_that_stands_idle_changes_nothing(monkeypatch):
    """An idle context changes no result; the hardware of a run therefore omits idle contexts."""
    work, system = workload(512, 384, 64, 2), small_system()
    options = RunOptions(engine="golden", configurations=("t3",))
    results = []
    for contexts in (1, 2):
        of_contexts = partial(hardware_parameters, contexts=contexts)
        monkeypatch.setattr("sysmodel.machine.machine.hardware_parameters", of_contexts)
        results.append(simulate(Plan(work, system, options)).configurations["t3"])
    assert results[0] == results[1]
