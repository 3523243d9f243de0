"""One GPU represents all, and one channel represents all."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.config.system import load_system
from sysmodel.lib.errors import InputError
from sysmodel.machine.sampling import output_atoms, samples, stands_for_all, symmetry
from sysmodel.machine.tiling import kernel_of
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.program.activities import Gemm
from sysmodel.runs.program.program import Program
from sysmodel.runs.simulate import simulate
from t3.experiments.validation.sampling import CHANNELS, GPUS, compare_sampling
from tests.support.example_run import example_result
from tests.support.small_system import small_system, workload

CONFIGURATIONS = ("sequential", "t3", "t3-mca", "t3-one-launch", "t3-halves")


def totals(system, work, **options):
    options = RunOptions(engine="golden", configurations=CONFIGURATIONS, **options)
    result = simulate(Plan(work, system, options))
    return {name: one for name, one in result.configurations.items()}


def require_equal_bytes(one, other):
    for kind in ("gemm_write", "rs_read", "rs_write", "ag_read", "ag_write"):
        assert one.dram_bytes.as_dict()[kind] == other.dram_bytes.as_dict()[kind], kind
    assert one.link_bytes == other.link_bytes


@pytest.mark.parametrize("gpus", [2, pytest.param(4, marks=pytest.mark.verify)])
def test_mirror_agrees_with_real_gpus(gpus):
    system, work = small_system(), workload(1024, 768, 1024, gpus)
    mirrored = totals(system, work, gpus="mirror", channels="all")
    real = totals(system, work, gpus="all", channels="all")
    for name in CONFIGURATIONS:
        # With few workgroups, single decisions of MCA's measured thresholds show in the total.
        tolerance = 0.05 if name == "t3-mca" else 0.02
        assert mirrored[name].total_ns == pytest.approx(real[name].total_ns, rel=tolerance), name
        require_equal_bytes(mirrored[name], real[name])


def test_bytes_of_an_output_that_stays_in_the_l2():
    """The simulated channels hold more than their share of the output; no byte is negative."""
    options = RunOptions(engine="golden", configurations=("sequential",), channels=64)
    made = Plan(workload(2048, 2048, 512, 4), load_system("h200"), options)
    found = simulate(made).configurations["sequential"].dram_bytes.as_dict()
    assert [found[name] for name in ("gemm_write", "rs_read", "ag_read")] == [0, 0, 0]


def alone(size, channels, gpus="mirror"):
    """Plan of a GEMM without collectives."""
    options = RunOptions(
        engine="golden",
        configurations=("sequential",),
        program=Program("gemm", (Gemm("gemm"),)),
        channels=channels,
        gpus=gpus,
    )
    return Plan(workload(*size, 8), load_system("h200"), options)


def test_channels_and_gpus_of_a_gemm_alone():
    """Fewer channels represent a GEMM without a collective: their share of the output is enough,
    and its chunks may differ."""
    size = 4096, 3584, 1024
    few = alone(size, 16)
    kernel, system = few.parts[0].kernel, few.system
    assert few.mirror and not stands_for_all(system, kernel, 16)
    with pytest.raises(ValueError, match="chunks"):
        symmetry(kernel, output_atoms(system, kernel, 16), 16)
    with pytest.raises(InputError, match="do not hold an atom of every wavefront's tile"):
        alone(size, 2)
    sampled = [simulate(alone(size, *one)) for one in ((16, "mirror"), (16, "all"), (64, "mirror"))]
    first, *others = (one.configurations["sequential"].ns["gemm"] for one in sampled)
    assert others == pytest.approx([first, first], rel=0.02)


def test_a_plan_that_is_accepted_runs_its_pieces():
    """The second piece of a GEMM lies elsewhere than the one that the plan checks."""
    options = RunOptions(engine="golden", configurations=("sequential", "chunked"), channels=64)
    made = Plan(workload(1024, 1536, 512, 4), load_system("h200"), options)
    assert simulate(made).configurations["chunked"].total_ns > 0


def test_channels_with_another_share_of_the_output_do_not_represent_all():
    with pytest.raises(InputError, match="do not hold an atom of every wavefront's tile"):
        alone((1024, 128, 64), 2)


def test_pieces_of_a_gemm_need_no_more_channels_than_the_gemm():
    """A workgroup of the piece has no atom in half of the channels."""
    options = RunOptions(engine="golden", configurations=("sequential", "chunked"), channels=16)
    made = Plan(workload(1024, 6144, 2048, 8), load_system("mi300x"), options)
    (piece,) = made.parts[0].cut["owners"]
    atoms = output_atoms(made.system, piece.kernel, 128)
    assert not atoms.per_wave.any(axis=1).all()


@pytest.mark.verify
@pytest.mark.parametrize(
    ("sampling", "work"),
    [
        pytest.param(one, work, id=f"{one.title}, {work}")
        for one in (CHANNELS, GPUS)
        for work in one.workloads
    ],
)
def test_full_layers_sampled_and_whole(sampling, work):
    compared = compare_sampling(replace(sampling, workloads=(work,)))
    assert {one.configuration for one in compared} >= set(CONFIGURATIONS)
    outside = {one.configuration for one in compared if abs(one.difference) > sampling.bound}
    assert not outside, compared


@pytest.mark.parametrize("sampled", [1, pytest.param(2, marks=pytest.mark.verify)])
def test_sampled_channels_agree_with_all(sampled):
    system, work = small_system(channels=8), workload(2048, 768, 512, 4)
    whole = totals(system, work, channels="all")
    sample = totals(system, work, channels=sampled)
    for name in CONFIGURATIONS:
        assert sample[name].total_ns == pytest.approx(whole[name].total_ns, rel=0.02), name
        require_equal_bytes(sample[name], whole[name])


def test_bytes_of_a_whole_gpu_are_exact_if_the_sample_has_more_or_less_than_its_share():
    system, work = small_system(channels=8), workload(768, 192, 256, 4)
    kernel = kernel_of(system, work.m, work.n, work.k, work.tp)
    held = np.diff(output_atoms(system, kernel, 1).start).reshape(4, -1).sum(axis=1)
    assert (held * 8 != kernel.chunk_atoms).all()
    result = simulate(
        Plan(work, system, RunOptions(engine="golden", configurations=CONFIGURATIONS, channels=1))
    )
    chunk = work.output_bytes // 4
    for name, one in result.configurations.items():
        tracked = name != "sequential"
        moved = one.dram_bytes
        assert moved.write["gemm"] == (3 if tracked else 4) * chunk
        assert moved.read["rs"] == (2 if tracked else 7) * chunk
        assert moved.write["rs"] == (3 if tracked else 4) * chunk
        assert moved.read["ag"] == moved.write["ag"] == 3 * chunk
        assert one.link_bytes.payload["rs"] == one.link_bytes.payload["ag"] == 3 * chunk
    assert result.scaled == ("dram_bytes.gemm_read", "activity", "energy_j")
    assert result.as_dict()["scaled"] == list(result.scaled)


@pytest.mark.parametrize(
    ("name", "channels", "bytes_scaled"),
    [
        ("asplos24", "all", ()),
        ("asplos24", 1, ("gemm_read",)),
        # Its GEMM's results stay in the caches as far as they fit.
        ("h200", 8, ("gemm_read", "gemm_write", "rs_read", "ag_read")),
    ],
)
def test_a_result_names_the_bytes_that_depend_on_the_cache(name, channels, bytes_scaled):
    options = RunOptions(engine="golden", channels=channels)
    result = replace(example_result(options=options), system=load_system(name))
    result = replace(result, channels=options.channels_of(result.system))
    known = [one for one in result.scaled if one.startswith("dram_bytes.")]
    assert known == [f"dram_bytes.{one}" for one in bytes_scaled]


def test_samples_double_up_to_all_channels_and_keep_memory_channels_whole():
    assert list(samples(small_system(channels=8))) == [1, 2, 4, 8]
    assert list(samples(load_system("h200"))) == [2, 4, 8, 16, 32, 64, 128, 192]


def test_a_sample_has_the_atoms_of_its_channels():
    system, work = small_system(channels=32), workload(2048, 768, 512, 4)
    kernel = kernel_of(system, work.m, work.n, work.k, work.tp)
    atoms, every = output_atoms(system, kernel, 4), output_atoms(system, kernel, 32)
    assert sorted(atoms.atom) == sorted(every.atom[every.channel < 4])
    number = dict(zip(every.atom, every.channel, strict=True))
    assert [number[atom] for atom in atoms.atom] == list(atoms.channel)
