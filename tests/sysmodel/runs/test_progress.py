"""Progress of a run: the share of each phase's own work, and the number of the simulation."""

from itertools import groupby

import pytest

from sysmodel.config.system import load_system
from sysmodel.config.workload import custom_gemm
from sysmodel.machine import machine
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate


@pytest.fixture
def reports(monkeypatch):
    """Reports of a run of four GPUs, one for every thousand cycles."""
    monkeypatch.setattr(machine, "_SLICE_CYCLES", 1000)
    found = []
    options = RunOptions(engine="golden", configurations=("sequential", "t3", "ideal-rs-nmc"))
    plan = Plan(custom_gemm(2048, 1024, 256, 4, "fp16"), load_system(), options)
    simulate(plan, lambda task, share: found.append((task, share)))
    return found


def test_each_phase_has_a_share_of_its_own(reports):
    phases = {
        task: [share for _, share in shares]
        for task, shares in groupby(reports, key=lambda one: one[0])
        if "simulation" in task
    }
    assert list(phases) == [
        "sequential: GEMM, simulation 1 of 3",
        "sequential: RS, simulation 1 of 3",
        "sequential: AG, simulation 1 of 3",
        "t3: GEMM and RS, simulation 2 of 3",
        "t3: AG, simulation 2 of 3",
        "t3, its waits for the link: GEMM, simulation 2 of 3",
        "rs-nmc: RS, simulation 3 of 3",
    ]
    for task, shares in phases.items():
        assert shares[0] == 0.0, task
        assert shares == sorted(shares), task
        assert any(0.2 < share < 0.8 for share in shares), task
        assert shares[-1] > 0.9, task


def test_repetitions_count(monkeypatch):
    monkeypatch.setattr(machine, "_SLICE_CYCLES", 1000)
    tasks = []
    options = RunOptions(engine="golden", configurations=("sequential",), repeat=3)
    plan = Plan(custom_gemm(1024, 1024, 64, 4, "fp16"), load_system(), options)
    simulate(plan, lambda task, share: tasks.append(task))
    numbers = [task.partition("simulation ")[2] for task in tasks if "simulation" in task]
    assert [number for number, _ in groupby(numbers)] == ["1 of 3", "2 of 3", "3 of 3"]
