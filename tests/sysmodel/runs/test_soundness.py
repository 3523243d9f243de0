"""Systems that validation calls sound run: every key of a system at both of its bounds."""

import re
from typing import Any

import numpy as np
import pytest

from sysmodel.config.library import Collective
from sysmodel.config.memory import Dram
from sysmodel.config.system import (
    L2,
    T3,
    Gpu,
    Kernel,
    Link,
    System,
    Variation,
    load_system,
)
from sysmodel.lib.errors import InputError
from sysmodel.runs import soundness
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from sysmodel.runs.soundness import check_machine, smallest_gemm
from tests.support.small_system import scaled, workload

SECTIONS = {
    "gpu": Gpu, "kernel": Kernel, "l2": L2, "dram": Dram, "link": Link, "collective": Collective,
    "variation": Variation, "t3": T3,
}  # fmt: skip
_BOUNDS = re.compile(r"(an integer|a number|a power of two) from ([\d.e+-]+) to ([\d.e+-]+)")
GOLDEN = RunOptions(engine="golden", configurations=("sequential", "t3", "t3-critical"))

# Keys that once passed validation and stopped the run, or made it wait for ever. The bounds in SLOW
# take seconds.
QUICK = (
    "gpu.compute_units", "gpu.flops_per_cycle_per_cu", "kernel.waves_m", "l2.slices",
    "l2.mshrs_per_slice", "dram.channels", "dram.read_latency_ns", "link.latency_ns",
    "collective.waves_per_cu", "t3.group_workgroups", "t3.tracker_ways", "t3.command_depth",
)  # fmt: skip
SLOW = {
    ("gpu.compute_units", "1"), ("gpu.flops_per_cycle_per_cu", "1"), ("l2.slices", "1024"),
    ("dram.read_latency_ns", "100000.0"), ("link.latency_ns", "10000000.0"),
    ("t3.tracker_ways", "32"), ("t3.command_depth", "65536"),
}  # fmt: skip


def bounds() -> list[tuple[str, str]]:
    """List each key with the text of each of its bounds."""
    found = []
    for section, shape in SECTIONS.items():
        for key, field in shape.model_fields.items():
            if match := _BOUNDS.match(field.description or ""):
                kind, *values = match.groups()
                for value in map(float, values):
                    text = repr(value if kind == "a number" else int(value))
                    found.append((f"{section}.{key}", text))
    return found


def loaded(folder: Any, key: str, value: str) -> System | None:
    """Load a preset with another value; None if it is refused with a line that names a key."""
    path = folder / "case.toml"
    section, name = key.split(".")
    path.write_text(f'base = "asplos24"\n[{section}]\n{name} = {value}\n')
    try:
        return load_system(str(path))
    except InputError as error:
        line = str(error)
        assert "\n" not in line and "allowed: " in line or " must be " in line or " bits " in line
        named = line.removeprefix(f"{path}: ").partition(":")[0].split(".")
        assert named[0] in SECTIONS and named[1] in SECTIONS[named[0]].model_fields
        return None


def assert_runs(system: System) -> None:
    check_machine(system)
    result = simulate(Plan(workload(1024, 768, 128, 4), system, GOLDEN))
    for one in result.configurations.values():
        assert np.isfinite(one.total_ns) and one.total_ns > 0


def test_the_bounds_are_those_of_all_numbers():
    keys = {key for key, _ in bounds()}
    assert len(keys) > 60 and set(QUICK) < keys
    assert {*bounds()} > SLOW and {key for key, _ in SLOW} < {*QUICK}


def _run(key, value):
    is_quick = key in QUICK and (key, value) not in SLOW
    return pytest.param(key, value, marks=() if is_quick else pytest.mark.verify)


@pytest.mark.parametrize("key,value", [_run(*one) for one in bounds()])
def test_a_sound_system_runs(tmp_path, key, value):
    system = loaded(tmp_path, key, value)
    if system is not None:
        assert_runs(system)


@pytest.mark.parametrize("layout", ["column-major", "row-major"])
def test_the_smallest_gemm_has_chunks_of_two_workgroups(layout):
    system = scaled(load_system(), kernel={"output_layout": layout})
    (one,) = Plan(smallest_gemm(system), system, GOLDEN).kernels
    assert one.chunks.sizes == [2] * 4
    assert one.tiling.steps == system.kernel.prefetch_depth + 1


def test_a_slow_system_is_checked_for_a_while(monkeypatch):
    """The check of a system that takes long ends without an error."""
    monkeypatch.setattr(soundness, "_MOST_REPORTS", 3)
    tasks = []
    check_machine(load_system(), lambda task, done: tasks.append(task))
    assert len(tasks) == 3


def test_a_check_builds_the_hardware_of_few_channels(monkeypatch):
    """All 192 channels of h200 would be elaborated for about a minute."""
    plans = []
    monkeypatch.setattr(soundness, "simulate", lambda plan, _report, **_options: plans.append(plan))
    check_machine(load_system("h200"))
    assert plans[0].channels <= 16
