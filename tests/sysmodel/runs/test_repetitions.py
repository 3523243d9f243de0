"""Repetitions of a run: their variation, the quantities that stay, and their comparison."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.config.model import workload_of
from sysmodel.config.system import load_system
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.machine.machine import Machine
from sysmodel.machine.tiling import kernel_of
from sysmodel.machine.variation import moved, varied
from sysmodel.runs.comparison import slower, spreads
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.configurations import ON_A_RING
from tests.support.example_run import example_result
from tests.support.small_system import scaled, small_system, workload

SYSTEM = small_system()
NOTHING = scaled(
    SYSTEM,
    variation={
        "start_skew_ns": 0.0,
        "kernel_launch_ns": 0.0,
        "workgroup_launch_ns": 0.0,
        "offset_pages": 0,
    },
)
GPUS = ["mirror", pytest.param("all", marks=pytest.mark.verify)]
PAGE = SYSTEM.variation.page_kib * 1024 // ATOM_BYTES


def results(system=SYSTEM, *, m=1024, n=768, k=128, tp=4, **options):
    options = {"configurations": ("sequential", "t3", "t3-mca"), "channels": "all"} | options
    return simulate(Plan(workload(m, n, k, tp), system, RunOptions(engine="golden", **options)))


@pytest.mark.parametrize("gpus", GPUS)
def test_the_first_repetition_is_the_machine_as_it_is(gpus):
    once, thrice = results(gpus=gpus), results(gpus=gpus, repeat=3)
    assert once.varied == ()
    assert thrice.configurations == once.configurations
    first, second, third = (one["t3"].total_ns for one in thrice.repetitions)
    assert len({first, second, third}) == 3


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"configurations": ("t3-mca",), "m": 512}, id="small"),
        pytest.param({}, id="large", marks=pytest.mark.verify),
    ],
)
def test_a_seed_gives_the_same_numbers_again(options):
    first, again, other = (results(seed=seed, repeat=2, **options) for seed in (3, 3, 4))
    assert first.repetitions == again.repetitions
    assert first.configurations == other.configurations
    assert first.varied != other.varied


@pytest.mark.parametrize(
    ("gpus", "repeat"),
    [
        ("mirror", 2),
        *(pytest.param(gpus, 3, marks=pytest.mark.verify) for gpus in ("mirror", "all")),
    ],
)
def test_a_variation_of_nothing_changes_nothing(gpus, repeat):
    result = results(NOTHING, gpus=gpus, repeat=repeat)
    assert result.varied == (result.configurations,) * (repeat - 1)


@pytest.mark.parametrize(
    ("gpus", "repeat"),
    [
        ("mirror", 2),
        *(pytest.param(gpus, 3, marks=pytest.mark.verify) for gpus in ("mirror", "all")),
    ],
)
def test_no_repetition_loses_bytes(gpus, repeat):
    """Each repetition is compared with the closed form; the reduction moves the same bytes in
    all."""
    system = small_system(compute_units=20)
    result = results(system, configurations=ON_A_RING, gpus=gpus, repeat=repeat)
    for name, one in result.configurations.items():
        for other in result.varied:
            assert other[name].link_bytes == one.link_bytes
            reads = other[name].dram_bytes.read | {"gemm": one.dram_bytes.read["gemm"]}
            assert replace(other[name].dram_bytes, read=reads) == one.dram_bytes


def test_buffers_move_by_whole_pages():
    kernel = kernel_of(SYSTEM, 1024, 768, 128, 4)
    assert moved(SYSTEM, kernel, 0, 0, channels=4, mirror=True) is kernel
    offsets = set()
    for repetition in range(1, 40):
        there = moved(SYSTEM, kernel, 0, repetition, channels=4, mirror=True)
        for name in ("output_atom", "a_atom", "b_atom"):
            pages, rest = divmod(
                getattr(there.placement, name) - getattr(kernel.placement, name), PAGE
            )
            assert rest == 0
            assert 0 <= pages <= SYSTEM.variation.offset_pages
            offsets.add((name, pages))
        shift = there.output_atom - kernel.output_atom
        assert np.array_equal(there.walk.first, kernel.walk.first + shift)
        rectangles = [(first + shift, *of) for first, *of in kernel.chunk_rectangles(1)]
        assert there.chunk_rectangles(1) == rectangles
    assert len(offsets) > 60


@pytest.mark.parametrize("model,layer,tp", [("t-nlg", "op", 16), ("mega-gpt-2", "ip", 16)])
def test_one_channel_of_a_moved_output_stands_for_all(model, layer, tp):
    system, work = load_system(), workload_of(model, layer, tp)
    kernel = kernel_of(system, work.m, work.n, work.k, tp)
    there = moved(system, kernel, 0, 1, channels=1, mirror=True)
    assert there.output_atom > kernel.output_atom
    Machine(system, there, engine="golden", channels=1, mirror=True)


@pytest.mark.verify  # the tables of a large output
def test_an_output_stays_where_it_alone_fits():
    """An output of 1 GiB less 100 KiB has no space for another page."""
    kernel = kernel_of(SYSTEM, 16384, 32765, 64, 4)
    there = moved(SYSTEM, kernel, 0, 1, channels=4, mirror=False)
    assert there.output_atom == kernel.output_atom
    assert there.placement.a_atom != kernel.placement.a_atom


def test_delays_lie_between_none_and_the_most():
    kernel = kernel_of(SYSTEM, 1024, 768, 128, 4)
    assert varied(SYSTEM, kernel, 0, 0) is None
    draws = [varied(SYSTEM, kernel, 0, repetition) for repetition in range(1, 200)]
    most = SYSTEM.variation
    for name, most_ns in (
        ("kernel", most.kernel_launch_ns),
        ("skew", most.start_skew_ns),
        ("workgroup", most.workgroup_launch_ns),
    ):
        drawn = np.concatenate([getattr(one, name).ravel() for one in draws])
        assert 0 <= drawn.min() * SYSTEM.cycle_ns < 0.05 * most_ns
        assert 0.95 * most_ns < drawn.max() * SYSTEM.cycle_ns <= most_ns
    assert all(one.skew.min() == 0 for one in draws)
    assert draws[0].kernel.shape == (3,)
    assert draws[0].workgroup.shape == (4, kernel.workgroups)


def test_gpus_start_apart_by_the_skew():
    kernel = kernel_of(SYSTEM, 1024, 768, 128, 4)
    drawn = varied(SYSTEM, kernel, 0, 1)
    machine = Machine(SYSTEM, kernel, engine="golden", channels=4, mirror=False, variation=drawn)
    machine.start_kernel()
    launch = SYSTEM.cycles(SYSTEM.gpu.kernel_launch_ns) + drawn.kernel[0]
    assert machine.state.kernel["start"][:, 0].tolist() == (launch + drawn.skew).tolist()


@pytest.mark.parametrize("repetition", range(1, 5))
def test_the_mirror_has_no_skew(repetition):
    kernel = kernel_of(SYSTEM, 1024, 768, 128, 4)
    drawn = varied(SYSTEM, kernel, 0, repetition)
    machine = Machine(SYSTEM, kernel, engine="golden", channels=4, mirror=True, variation=drawn)
    machine.start_kernel()
    launch = SYSTEM.cycles(SYSTEM.gpu.kernel_launch_ns) + drawn.kernel[0]
    assert machine.state.kernel["start"][:, 0].tolist() == [launch]


def timed(**totals):
    """Repetitions with these total times in µs."""
    known = example_result().configurations
    base = totals.get("sequential")
    return [
        {
            name: replace(
                known["t3"],
                total_ns=values[i] * 1e3,
                speedup=None if base is None else base[i] / values[i],
            )
            for name, values in {key.replace("_", "-"): one for key, one in totals.items()}.items()
        }
        for i in range(len(next(iter(totals.values()))))
    ]


@pytest.mark.parametrize(
    "mca, sentences",
    [
        ([1000], []),
        ([1000.9], []),
        ([1012], ["t3-mca is 1.2% slower than t3."]),
        (
            [2100],
            [
                "t3-mca is 5.0% slower than sequential.",
                "t3-mca is 110.0% slower than t3.",
            ],
        ),
        ([1010, 990], []),
        (
            [1010, 998],
            [
                "t3-mca is 0.4% slower than t3 on average, "
                + "which is within the variation (-0.2% to +1.0%)."
            ],
        ),
        (
            [1010, 1004],
            [
                "t3-mca is 0.7% slower than t3 on average, "
                + "which is more than the variation (+0.4% to +1.0%)."
            ],
        ),
    ],
)
def test_unexpected_slowness_is_reported(mca, sentences):
    n = len(mca)
    repetitions = timed(sequential=[2000] * n, t3=[1000] * n, t3_mca=mca, ideal_overlap=[3000] * n)
    assert [one.sentence for one in slower(repetitions, 0.0)] == sentences


def test_the_critical_policy_is_compared_with_the_best_other_one():
    repetitions = timed(t3=[1100], t3_mca=[1000], t3_critical=[1009])
    assert slower(repetitions, 0.0) == []
    (found,) = slower(timed(t3=[1100], t3_mca=[1000], t3_critical=[1021]), 0.0)
    assert found.sentence == "t3-critical is 2.1% slower than t3-mca."


def test_nothing_to_compare_with():
    assert slower(timed(t3_mca=[1000]), 0.0) == []


def test_no_slowness_within_the_band_of_the_sample():
    repetitions = timed(sequential=[2000], t3=[1000], t3_mca=[1020], t3_critical=[1040])
    (found,) = slower(repetitions, 0.03)
    assert found.sentence == "t3-critical is 4.0% slower than t3."


def test_spreads_compare_within_a_repetition():
    repetitions = timed(sequential=[2000, 4000], t3=[1000, 2000], t3_mca=[1100, 2100])
    _, t3, mca = spreads(repetitions)
    assert (t3.total_ns.mean, t3.total_ns.least, t3.total_ns.most) == (1.5e6, 1e6, 2e6)
    assert (t3.speedup.least, t3.speedup.most) == (2, 2)
    assert (mca.over_round_robin.least, mca.over_round_robin.most) == pytest.approx((0.05, 0.1))
    assert spreads(repetitions[:1]) == []
