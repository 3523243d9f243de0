"""Estimate of the error that a sample of channels or of GPUs makes."""

from dataclasses import replace

import pytest

from sysmodel.config.system import load_system
from sysmodel.runs import sampling_error
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.sampling_error import SamplingError, sampling_errors, with_errors
from sysmodel.runs.simulate import simulate
from tests.support.example_run import example_result
from tests.support.small_system import small_system, workload

NAMES = ("sequential", "t3", "t3-mca", "ideal-overlap")


@pytest.fixture
def speedups(monkeypatch):
    """Speedup of ``t3-mca`` by GPUs and simulated channels; any other sample has 1.2."""
    known = {}

    def simulated(plan, report=None, *, counts_clocks=True):
        assert not counts_clocks
        return sample(plan, known.get((plan.options.gpus, plan.channels), 1.2))

    monkeypatch.setattr(sampling_error, "simulate", simulated)
    return known


def sample(plan, speedup):
    result = example_result(plan.workload, plan.options)
    configurations = {
        name: replace(one, speedup=speedup if name == "t3-mca" else 1.1)
        for name, one in result.configurations.items()
    }
    return replace(
        result,
        system=plan.system,
        channels=plan.channels,
        configurations=configurations,
        sampling_band=plan.sampling_band,
    )


def plan(system=None, work=None, **options):
    work = work or workload(1024, 768, 512, 4)
    options = RunOptions(**({"engine": "golden", "configurations": NAMES} | options))
    return Plan(work, system or small_system(channels=8), options)


def test_half_of_the_channels_are_compared_and_the_error_is_a_multiple(speedups):
    speedups["mirror", 2] = 1.2 / 1.05
    made = plan(channels=4)
    of_channels, of_gpus = sampling_errors(made, sample(made, 1.2))
    assert (of_channels.of, of_channels.channels) == ("channels", 2)
    assert of_channels.difference == pytest.approx(0.05)
    assert of_channels.band == pytest.approx(0.10)
    assert of_gpus == SamplingError(of="gpus", channels=4, difference=0.0, band=0.0)


def test_each_doubling_up_to_all_channels_adds_the_difference(speedups):
    speedups["mirror", 1] = 1.2 / 1.01
    made = plan(small_system(channels=32, compute_units=16), channels=2)
    of_channels, _ = sampling_errors(made, sample(made, 1.2))
    assert of_channels.band == pytest.approx(4 * 0.01)


def test_all_channels_show_the_error_itself(speedups):
    speedups["mirror", 2] = 1.2 / 0.95
    made = plan(small_system(channels=2), channels=1)
    of_channels, _ = sampling_errors(made, sample(made, 1.2))
    assert (of_channels.channels, of_channels.band) == (2, pytest.approx(0.05))


def test_every_gpu_is_compared_with_the_mirror(speedups):
    speedups["all", 8] = 1.2 / 1.04
    made = plan(channels="all")
    (of_gpus,) = sampling_errors(made, sample(made, 1.2))
    assert (of_gpus.of, of_gpus.channels) == ("gpus", 8)
    assert of_gpus.difference == of_gpus.band == pytest.approx(0.04)
    result = with_errors(made, sample(made, 1.2))
    assert result.sampling_band == of_gpus.band
    (known,) = result.as_dict()["sampling_errors"]
    assert known == {"of": "gpus", "channels": 8, "difference": of_gpus.band, "band": of_gpus.band}


def test_an_error_below_two_percent_does_not_widen_the_band(speedups):
    speedups["all", 8] = 1.2 / 1.019
    made = plan(channels="all")
    result = with_errors(made, sample(made, 1.2))
    assert result.sampling_errors and result.sampling_band == 0


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda: plan(channels="all", gpus="all"), id="whole"),
        pytest.param(lambda: plan(channels=4, configurations=("sequential",)), id="no speedup"),
        pytest.param(lambda: plan(channels=4, engine="rtl"), id="rtl"),
        pytest.param(
            lambda: plan(load_system(), workload(8192, 4256, 2128, 8), channels=1), id="much work"
        ),
    ],
)
def test_no_other_sample_is_simulated(made, speedups):
    one = made()
    assert sampling_errors(one, sample(one, 1.2)) == ()


def test_the_difference_is_that_of_two_runs():
    made = plan(configurations=("sequential", "t3"), channels="all", work=workload(512, 768, 64, 2))
    (estimate,) = sampling_errors(made, simulate(made))
    mirrored, whole = (
        simulate(plan(configurations=("sequential", "t3"), channels="all", gpus=gpus,
                      work=workload(512, 768, 64, 2)))
        for gpus in ("mirror", "all")
    )  # fmt: skip
    one, other = (each.configurations["t3"].speedup for each in (mirrored, whole))
    assert estimate.difference == abs(one / other - 1) > 0
