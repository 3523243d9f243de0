"""DRAM controller of the example alone: its timing is the standard's, and its checker detects each
delay that is too short.
"""

import re

import pytest

from sysmodel.config.memory import Dram, known_standard
from sysmodel.lib.yowasp import YOSYS, run_tool
from tests.support.exports import EXAMPLE, exported, written
from tests.support.memory_controller import CONTROLLER, EXAMPLE_FOLDER, icarus, sources

BENCH = "dram_controller_tb"
HEADER = "dram_standard.vh"
# In HBM2 the sum of other delays is as long, so these delays never decide.
HIDDEN_IN_HBM2 = {"tRC", "tRRD_L", "tFAW"}
LATE = {"tRFC", "tREFI"}  # effective only after a refresh


def clocks(standard, clock_mhz):
    """Return the delays of a memory of the system model."""
    rest = {
        "channels": 1,
        "clock_mhz": clock_mhz,
        "interleave_bytes": 256,
        "queue_depth": 16,
        "turnaround_cap_clocks": 1,
        "data_share": 1.0,
        "age_cap_clocks": 1000,
        "read_latency_ns": 100,
    }
    timing = Dram.model_validate(known_standard(standard).dram | rest).timing_cycles
    delays = {name: getattr(timing, name) for name in _names() - {"tBURST", "tACT"}}
    return delays | {"tBURST": timing.burst, "tACT": -(-timing.activate_half_cycles // 2)}


def _names():
    return set(re.findall(r"^`define DRAM_(t\w+) ", (EXAMPLE_FOLDER / HEADER).read_text(), re.M))


def header(delays):
    return "".join(f"`define DRAM_{name} {delay}\n" for name, delay in delays.items())


@pytest.fixture
def build(tmp_path):
    layouts = exported(EXAMPLE)["t3_layouts.vh"]
    return written(tmp_path, sources() | {"t3_layouts.vh": layouts})


def planted(build, file, right, wrong):
    text = (build / file).read_text()
    assert text.count(right) == 1
    (build / file).write_text(text.replace(right, wrong))
    done = icarus(build, BENCH)
    assert done.returncode != 0
    return re.search("FAIL: (.*)", done.stdout)[1]


def test_delays_are_those_of_the_system_model():
    given = re.findall(r"^`define DRAM_(t\w+) (\d+)$", (EXAMPLE_FOLDER / HEADER).read_text(), re.M)
    assert {name: int(value) for name, value in given} == clocks("hbm2", 1000)


@pytest.mark.verify
def test_is_synthesizable(build):
    """Yosys accepts the example: no latch, no loop, no net with two drivers."""
    steps = [
        f"read_verilog {' '.join(CONTROLLER)}",
        "hierarchy -check -top dram_controller",
        "proc",
        "flatten",
        "opt_clean",
        "check -assert",
        "select -assert-none t:$dlatch",
    ]
    run_tool(YOSYS, build, "-q", "-p", "; ".join(steps))


@pytest.mark.verify
def test_another_memory(build):
    (build / HEADER).write_text(header(clocks("hbm3", 1600)))
    done = icarus(build, BENCH)
    assert done.returncode == 0, done.stdout
    assert "PASS" in done.stdout


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.verify] if name in LATE else [])
        for name in sorted(_names() - {"tCL"})  # no command waits for this delay
    ],
)
def test_checker_finds_short_delays(name, build):
    """The checker detects each delay shortened by one clock, and too few refreshes."""
    if name in HIDDEN_IN_HBM2:
        (build / HEADER).write_text(header(clocks("hbm3", 1600)))
    right = f".{name}(`DRAM_{name})"
    wrong = f".{name}(2 * `DRAM_{name})" if name == "tREFI" else f".{name}(`DRAM_{name} - 1)"
    problem = planted(build, "dram_controller.v", right, wrong)
    # The end of a write's data is part of several delays.
    found = r"tW\w+" if name in ("tCWL", "tBURST") else name
    assert re.match(rf"{found} between DRAM commands", problem)


@pytest.mark.parametrize(
    ("file", "right", "wrong", "problem"),
    [
        pytest.param(
            "request_queue.v",
            "waits_for[slot] <= staying & same_atom",
            "waits_for[slot] <= 0",
            "wrong value",
            id="overtakes",
        ),
        pytest.param(
            "scheduler.v", "urgent = starved", "urgent = 0", "waits for too long", id="starves"
        ),
        pytest.param(
            "dram_controller.v",
            "<= taken[`T3_DRAM_OWNER]",
            "<= 0",
            "wrong acknowledgement",
            id="forgets the owner",
        ),
        pytest.param(
            "dram_controller.v",
            "+ begins_update - acknowledges - returns__valid - nmc_in__valid",
            "- acknowledges - returns__valid",
            "an answer that is not owed",
            id="forgets a reduce request",
        ),
        pytest.param(
            "dram_controller.v",
            "- returns__valid - nmc",
            "- nmc",
            "an answer is still owed",
            id="owes forever",
        ),
        pytest.param(
            "data_path.v", "NO_EPOCH = 0", "NO_EPOCH = 2", "wrong value", id="keeps the epoch"
        ),
        pytest.param(
            "scheduler.v",
            "(may_acknowledge || !acknowledged[number])",
            "1'b1",
            "answer is missing",
            id="loses an acknowledgement",
        ),
        pytest.param(
            "scheduler.v",
            "(!hit_banks[bank] || urgent",
            "(1'b1 || urgent",
            "between DRAM commands",
            id="closes a row in use",
        ),
    ],
)
def test_bench_finds_faults(file, right, wrong, problem, build):
    assert re.search(problem, planted(build, file, right, wrong))
