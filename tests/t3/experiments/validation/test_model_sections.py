"""Sections of the validation page about sampling and the GEMM alone."""

import pytest

from sysmodel.config.model import workload_of
from sysmodel.lib.progress import no_progress
from t3.experiments.validation.gemm_comparison import GemmComparison, compare_gemm
from t3.experiments.validation.model_sections import gemm_section, sampling_section
from t3.experiments.validation.sampling import CHANNELS, GPUS, SamplingComparison


def compared(sampled_ns, whole_ns):
    workload = workload_of("t-nlg", "fc2", 8)
    return SamplingComparison(workload, "t3", sampled_ns, whole_ns)


@pytest.mark.parametrize("sampling", [CHANNELS, GPUS])
def test_a_sample_too_far_from_the_whole_breaks_the_bound(sampling):
    inside, outside = 1 - 0.99 * sampling.bound, 1 + 1.01 * sampling.bound
    section = sampling_section(
        sampling, [compared(inside * 1e6, 1e6), compared(outside * 1e6, 1e6)]
    )
    assert [row[-1] for row in section.table.rows] == ["yes", "no"]
    assert len(section.broken) == 1


@pytest.mark.parametrize(
    "k,ours,holds", [(1024, 0.95, None), (2048, 0.95, True), (2048, 0.96, False)]
)
def test_bound_of_the_gemm(k, ours, holds):
    one = GemmComparison(k, library=0.853, model=ours, single=0.5, measured_gpu=0.85)
    assert one.holds is holds
    assert len(gemm_section([one]).broken) == (holds is False)


def test_gemm_is_within_ten_points_of_the_library_for_large_k():
    for one in compare_gemm(no_progress):
        assert 0.3 < one.single < one.model < 0.94
        if one.k >= 2048:
            assert one.holds
