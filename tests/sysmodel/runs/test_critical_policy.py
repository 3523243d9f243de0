"""``t3-critical`` keeps up with the better one of the other policies, on systems that it was not
designed with."""

import csv
from pathlib import Path
from statistics import mean

import pytest

import t3
from sysmodel.runs.result import RunResult
from tests.support.random_systems import random_case

POLICIES = ("t3", "t3-mca", "t3-critical")
MOST_BEHIND = 0.01
REPETITIONS = 4
SYSTEMS = Path(__file__).parents[2] / "support/policy_systems"


def behind(run: RunResult) -> list[float]:
    """Excess of the time of ``t3-critical`` over the better policy's, in each repetition."""
    found = []
    for one in run.repetitions:
        others = (one[name].total_ns for name in POLICIES[:2])
        found.append(one["t3-critical"].total_ns / min(others) - 1)
    return found


def assert_keeps_up(simulate) -> None:
    """Assert the bound, and beyond it at most the range of the repetitions."""
    (once,) = behind(simulate(configurations=POLICIES).run)
    print(f"behind {once:.2%}")
    if once > MOST_BEHIND:
        several = behind(simulate(configurations=POLICIES, repeat=REPETITIONS).run)
        print("repetitions", *(f"{share:.2%}" for share in several))
        assert mean(several) <= MOST_BEHIND + max(several) - min(several)


SHORT = (8, 10)  # seeds of systems that take seconds; the worse policy costs about 5 %


@pytest.mark.parametrize(
    "seed",
    [seed if seed in SHORT else pytest.param(seed, marks=pytest.mark.verify) for seed in range(20)],
)
def test_on_random_systems(seed):
    print(f"seed {seed}")

    def simulate(**options):
        system, gemm, result = random_case(seed, engine="golden", **options)
        print(system, gemm)
        return result

    assert_keeps_up(simulate)


def given_cases():
    """File of a system, and a GEMM, of each case."""
    with (SYSTEMS / "cases.csv").open(encoding="utf-8", newline="") as file:
        return [(row.pop("system"), row) for row in csv.DictReader(file)]


@pytest.mark.verify  # half a minute for each
@pytest.mark.parametrize(("system", "gemm"), given_cases(), ids=lambda one: str(one)[:6])
def test_on_given_systems(system, gemm):
    """Systems and GEMMs that somebody else drew; on sys018 the policy is 2.1 % behind, and the
    repetitions differ by 1.1 %."""
    sizes = {name: int(size) for name, size in gemm.items()}

    def simulate(**options):
        return t3.gemm(**sizes, system=SYSTEMS / system, engine="golden", **options)

    assert_keeps_up(simulate)


@pytest.mark.verify  # half a minute for each
@pytest.mark.parametrize(
    ("model", "layer", "tp"),
    [
        ("t-nlg", "op", 8),
        ("t-nlg", "fc2", 8),
        ("t-nlg", "ip", 16),
        ("mega-gpt-2", "op", 16),
        ("mega-gpt-2", "fc2", 8),
    ],
)
@pytest.mark.parametrize("clock_mhz", [500, 600, 700])
def test_with_a_slow_memory(clock_mhz, model, layer, tp):
    """Half to two thirds of the preset's memory clock, where the memory limits communication."""
    system = {"base": "asplos24", "dram": {"clock_mhz": clock_mhz}}

    def simulate(**options):
        return t3.run(model, layer, tp=tp, system=system, engine="golden", **options)

    assert_keeps_up(simulate)
