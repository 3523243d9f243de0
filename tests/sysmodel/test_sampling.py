"""One GPU stands for all, and one channel for all."""

import pytest
from small_system import small_system, workload

from sysmodel.config import load_system
from sysmodel.progress import no_progress
from sysmodel.result import RunOptions
from sysmodel.simulate import run
from sysmodel.workload import known_workloads

CONFIGURATIONS = ("sequential", "t3", "t3-mca")


def totals(system, work, **options):
    options = RunOptions(engine="golden", configurations=CONFIGURATIONS, **options)
    result = run(work, system, options, no_progress)
    return {name: one for name, one in result.configurations.items()}


def require_equal_bytes(one, other):
    for kind in ("gemm_write", "rs_read", "rs_write", "ag_read", "ag_write"):
        assert getattr(one.dram_bytes, kind) == getattr(other.dram_bytes, kind), kind
    assert one.link_bytes == other.link_bytes


@pytest.mark.parametrize("gpus", [2, 4])
def test_mirror_agrees_with_real_gpus(gpus):
    system, work = small_system(), workload(1024, 768, 1024, gpus)
    mirrored = totals(system, work, gpus="mirror", channels="all")
    real = totals(system, work, gpus="all", channels="all")
    for name in CONFIGURATIONS:
        # With few workgroups, single decisions of MCA's measured thresholds show in the total.
        tolerance = 0.05 if name == "t3-mca" else 0.02
        assert mirrored[name].total_ns == pytest.approx(real[name].total_ns, rel=tolerance), name
        require_equal_bytes(mirrored[name], real[name])


@pytest.mark.verify
def test_mirror_agrees_with_real_gpus_on_tnlg():
    system, work = load_system(), known_workloads().workload("t-nlg", "fc2", 8)
    mirrored, real = (totals(system, work, gpus=gpus) for gpus in ("mirror", "all"))
    for name in CONFIGURATIONS:
        assert mirrored[name].total_ns == pytest.approx(real[name].total_ns, rel=0.01), name
        require_equal_bytes(mirrored[name], real[name])


@pytest.mark.parametrize("sampled", [1, 2])
def test_sampled_channels_agree_with_all(sampled):
    system, work = small_system(channels=8), workload(2048, 768, 512, 4)
    whole = totals(system, work, channels="all")
    sample = totals(system, work, channels=sampled)
    for name in CONFIGURATIONS:
        assert sample[name].total_ns == pytest.approx(whole[name].total_ns, rel=0.02), name
        require_equal_bytes(sample[name], whole[name])
