"""Notices of values that look unphysical although the system can be simulated."""

import pytest

from sysmodel.config.notices import notices
from sysmodel.config.system import load_system, preset_names
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import workload


@pytest.mark.parametrize("name", preset_names())
def test_presets_have_none(name):
    assert notices(load_system(name)) == []


def changed(tmp_path, text):
    (tmp_path / "mine.toml").write_text(f'base = "asplos24"\n{text}')
    return notices(load_system(str(tmp_path / "mine.toml")))


def test_link_faster_than_its_dma(tmp_path):
    """In a tile of 128 rows a row has 256 bytes, which a walker moves in a cycle of 1 GHz."""
    (one,) = changed(tmp_path, "[t3]\ndma_walkers = 1\n[link]\nbandwidth_gb_per_s = 300\n")
    assert one == (
        "mine: link.bandwidth_gb_per_s: 300 of payload is more than the 256 GB/s that "
        "t3.dma_walkers = 1 walk, one run of 256 bytes each per cycle at 1000 MHz"
    )
    assert not changed(tmp_path, "[t3]\ndma_walkers = 2\n[link]\nbandwidth_gb_per_s = 300\n")


@pytest.mark.parametrize("clock,noticed", [(1499, False), (1500, False), (1501, True)])
def test_a_clock_in_gemms_above_that_of_the_peak(tmp_path, clock, noticed):
    found = changed(tmp_path, f"[gpu]\nclock_mhz = {clock}\nboost_clock_mhz = 1500\n")
    start = f"mine: gpu.clock_mhz: {clock} in GEMMs is more than gpu.boost_clock_mhz = 1500, whose "
    peak = round(80 * 1024 * 1.5e-3)
    assert found == [f"{start}peak of {peak} TFLOP/s is printed"] * noticed


@pytest.mark.parametrize("capacity,modelled,sets", [(16.05, 16, 128), (16.1, 16.125, 129)])
def test_an_l2_that_is_not_whole_sets(tmp_path, capacity, modelled, sets):
    """A set of the 64 slices of asplos24 has 16 lines of 128 bytes: 0.125 MiB."""
    (one,) = changed(tmp_path, f"[l2]\ncapacity_mib = {capacity}\n")
    assert one == (
        f"mine: l2.capacity_mib: {capacity} is modelled as {modelled:g}: {sets} sets in each of "
        "l2.slices = 64, of l2.ways = 16 lines"
    )
    assert changed(tmp_path, f"[l2]\ncapacity_mib = {modelled}\n") == []


def test_a_wavefront_has_shorter_rows(tmp_path):
    text = '[t3]\ngranularity = "wavefront"\n[link]\nbandwidth_gb_per_s = 260\n'
    (one,) = changed(tmp_path, text)
    assert "more than the 256 GB/s that t3.dma_walkers = 4 walk, one run of 64 bytes" in one


def test_peak_that_the_memory_cannot_give(tmp_path):
    text = "[dram.timing]\ntCCD_S = { clocks = 2 }\ntCCD_L = { clocks = 4 }\n"
    (one,) = changed(tmp_path, text)
    assert one.startswith("mine: dram.timing.tCCD_S: column commands every 2 clocks")
    assert one.endswith("give at most 50% of the memory's 1024 GB/s")


def test_link_that_the_memory_does_not_feed(tmp_path):
    found = changed(tmp_path, "[link]\nbandwidth_gb_per_s = 600\n[t3]\ndma_walkers = 16\n")
    assert (
        len(found) == 1
        and "600 of payload each way is more than the memory supplies, 1024 GB/s" in found[0]
    )


def test_a_peak_that_the_memory_cannot_feed(tmp_path):
    """160 tiles of 128 x 96 run at a time: a square of 12.6 x 12.6 tiles shares its reads."""
    assert not changed(tmp_path, "[gpu]\nflops_per_cycle_per_cu = 4096\n")
    one, _ = changed(tmp_path, "[gpu]\nflops_per_cycle_per_cu = 8192\n")
    wanted = (1 / 128 + 1 / 96) / 160**0.5 * 80 * 8192 * 1.4
    assert one.startswith("mine: gpu: at its peak of 918 TFLOP/s the GEMM takes at least")
    assert f"{wanted:,.0f} GB/s" in one and wanted > 1024


_FAST_CUS = "[gpu]\nflops_per_cycle_per_cu = 32768\ncompute_units = 2\n"


def test_an_lds_that_feeds_the_pipe_too_slowly(tmp_path):
    """A k-step has (128 + 96) x 64 x 2 = 28,672 bytes and 1,572,864 operations."""
    (one,) = changed(tmp_path, _FAST_CUS)
    assert one == (
        "mine: gpu.lds_bandwidth_bytes_per_cycle: a workgroup's tiles take 448 cycles a k-step "
        "through the port of the CU and 224 into the LDS, computing takes 51: "
        "gpu.workgroups_per_cu = 2 with kernel.prefetch_depth = 2 give the GEMM at most 29% of the "
        "peak, bound by lds"
    )
    fast = "cu_bandwidth_bytes_per_cycle = 4096\n"
    (one,) = changed(tmp_path, _FAST_CUS + fast)
    assert one.endswith(f"at most {2 * 48 / (224 + 51.06):.0%} of the peak, bound by lds")
    assert not changed(tmp_path, _FAST_CUS + fast + "lds_bandwidth_bytes_per_cycle = 4096\n")


def test_a_port_that_feeds_the_pipe_too_slowly(tmp_path):
    (one,) = changed(tmp_path, _FAST_CUS + "cu_bandwidth_bytes_per_cycle = 16\n")
    assert one.startswith("mine: gpu.cu_bandwidth_bytes_per_cycle: a workgroup's tiles take 1,792")
    assert one.endswith(f"at most {2 * 48 / ((1792 + 224) / 2):.0%} of the peak, bound by l2")


@pytest.mark.parametrize("port,bound", [(4096, 0.349), (64, 0.286), (16, 0.095)])
def test_a_gemm_comes_close_to_the_bound(tmp_path, port, bound):
    """The GEMM alone, with tiles of 32 k-steps; the bound leaves out begin and end of a tile."""
    (tmp_path / "mine.toml").write_text(
        f'base = "asplos24"\n{_FAST_CUS}cu_bandwidth_bytes_per_cycle = {port}\n'
        "workgroup_launch_ns = 0\n[kernel]\nprologue_cycles = 0\nepilogue_cycles = 0\n"
    )
    system = load_system(str(tmp_path / "mine.toml"))
    options = RunOptions(engine="golden", configurations=("sequential",))
    result = simulate(Plan(workload(512, 384, 2048, 4), system, options))
    assert 0.75 * bound < result.efficiencies["gemm"] < bound


def test_an_l2_that_feeds_the_pipes_too_slowly(tmp_path):
    """A k-step of 408.5 cycles of 1700 MHz reads 224 lines."""
    text = "[gpu]\ncompute_units = 132\nclock_mhz = 1700\nflops_per_cycle_per_cu = 4096\n"
    more = "[l2]\ncapacity_mib = 50\nways = 25\n[dram]\nclock_mhz = 1200\n"
    (one,) = changed(tmp_path, text + more)
    share = 0.94 * 64 * 1.2 / (132 * 224 / (384 / 0.94 / 1.7))
    assert one == (
        "mine: l2.slices: 64 slices look up 77 lines a ns, a line each in a cycle at 1200 MHz, but "
        f"the matrix pipes take 123: the GEMM gets at most {share:.0%} of the peak, bound by l2"
    )
