"""The sequential baseline: an L2 that a kernel's end flushes, and one that keeps its results."""

import pytest

from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import scaled, small_system, workload

WORK = workload(1024, 768, 512, 4)
OUTPUT = 1024 * 768 * 2


def sequential(*, flush: bool, capacity_mib: float, channels: str = "all"):
    system = scaled(
        small_system(channels=2),
        l2={"flush_at_kernel_end": flush, "capacity_mib": capacity_mib},
    )
    options = RunOptions(engine="golden", channels=channels, configurations=("sequential", "t3"))
    return simulate(Plan(WORK, system, options)).configurations


@pytest.mark.parametrize("channels", ["all", 1])
def test_an_l2_larger_than_all_keeps_the_partial_products_from_the_memory(channels):
    """The L2 also keeps what comes over the link, 3 of 4 chunks."""
    flushed = sequential(flush=True, capacity_mib=8, channels=channels)["sequential"]
    kept = sequential(flush=False, capacity_mib=8, channels=channels)["sequential"]
    assert flushed.dram_bytes.write["gemm"] == OUTPUT and kept.dram_bytes.write["gemm"] == 0
    assert kept.dram_bytes.read["rs"] == kept.dram_bytes.read["ag"] == 0
    assert flushed.dram_bytes.read["rs"] == OUTPUT + OUTPUT * 3 // 4
    assert kept.dram_bytes.write["rs"] == flushed.dram_bytes.write["rs"]
    assert kept.dram_bytes.read["gemm"] == flushed.dram_bytes.read["gemm"]
    assert kept.events.cu_loads == flushed.events.cu_loads
    assert kept.ns["gemm"] < flushed.ns["gemm"] and kept.ns["rs"] <= flushed.ns["rs"]


def test_a_small_l2_keeps_what_came_last():
    """Chunks of 384 KiB that arrive in 512 KiB evict partial products, which are written then."""
    flushed = sequential(flush=True, capacity_mib=0.5)["sequential"]
    kept = sequential(flush=False, capacity_mib=0.5)["sequential"]
    assert 0 <= OUTPUT - kept.dram_bytes.write["gemm"] <= 0.5 * 2**20
    arrived = OUTPUT * 3 // 4
    saved = flushed.dram_bytes.read["rs"] - kept.dram_bytes.read["rs"]
    assert arrived / 2 < saved <= arrived + 0.5 * 2**20


def test_tracked_stores_bypass_the_l2():
    assert sequential(flush=True, capacity_mib=8)["t3"].dram_bytes == (
        sequential(flush=False, capacity_mib=8)["t3"].dram_bytes
    )
