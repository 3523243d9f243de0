"""T3 over the fastest configuration that GPUs of today can run."""

import pytest

from sysmodel.runs.columns import measured
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import small_system, workload


def run(*names):
    options = RunOptions(engine="golden", configurations=names, channels="all")
    return simulate(Plan(workload(1024, 768, 256, 4), small_system(compute_units=32), options))


def test_the_fastest_of_several_rivals_is_the_yardstick():
    found = run("sequential", "t3", "cu-split-8", "cu-split-16")
    rivals = ("sequential", "cu-split-8", "cu-split-16")
    totals = {name: one.total_ns for name, one in found.configurations.items()}
    assert found.fastest_rival == min(rivals, key=totals.__getitem__) != "sequential"
    fastest_ns = totals[found.fastest_rival]
    for name, row in measured(found).items():
        assert row["speedup_over_rival"] == pytest.approx(fastest_ns / totals[name])
    assert found.as_dict()["fastest_rival"] == found.fastest_rival


def test_without_other_rivals_it_is_sequential_also_if_the_run_does_not_show_it():
    found = run("t3")
    one = found.configurations["t3"]
    assert found.fastest_rival == "sequential"
    assert one.speedup_over_rival == one.speedup
