"""One GPU stands for all, and one channel for all."""

import pytest
from small_system import small_system, workload

from sysmodel.progress import no_progress
from sysmodel.result import RunOptions
from sysmodel.simulate import run

CONFIGURATIONS = ("sequential", "t3", "t3-mca")


def totals(system, work, **options):
    options = RunOptions(engine="golden", configurations=CONFIGURATIONS, **options)
    result = run(work, system, options, no_progress)
    return {name: one for name, one in result.configurations.items()}


@pytest.mark.parametrize("gpus", [2, 4])
def test_mirror_agrees_with_real_gpus(gpus):
    system, work = small_system(), workload(1024, 768, 1024, gpus)
    mirrored = totals(system, work, gpus="mirror", channels="all")
    real = totals(system, work, gpus="all", channels="all")
    for name in CONFIGURATIONS:
        assert mirrored[name].total_ns == pytest.approx(real[name].total_ns, rel=0.02), name
        assert mirrored[name].link_bytes == real[name].link_bytes
        for kind in ("gemm_write", "rs_read", "rs_write", "ag_read", "ag_write"):
            assert getattr(mirrored[name].dram_bytes, kind) == getattr(
                real[name].dram_bytes, kind
            ), (name, kind)


@pytest.mark.parametrize("sampled", [1, 2])
def test_sampled_channels_agree_with_all(sampled):
    system, work = small_system(channels=8), workload(2048, 768, 512, 4)
    whole = totals(system, work, channels="all")
    sample = totals(system, work, channels=sampled)
    for name in CONFIGURATIONS:
        assert sample[name].total_ns == pytest.approx(whole[name].total_ns, rel=0.02), name
        for kind in ("gemm_write", "rs_read", "rs_write", "ag_read", "ag_write"):
            assert getattr(sample[name].dram_bytes, kind) == getattr(
                whole[name].dram_bytes, kind
            ), (name, kind)
