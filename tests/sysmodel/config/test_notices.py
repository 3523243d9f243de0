"""Notices of values that look unphysical although the system can be simulated."""

import pytest

from sysmodel.config.notices import notices
from sysmodel.config.system import load_system, preset_names


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
        "mine: link.bandwidth_gb_per_s: 300 is more than the 256 GB/s that t3.dma_walkers = 1 "
        "walk, one run of 256 bytes each per cycle at 1000 MHz"
    )
    assert not changed(tmp_path, "[t3]\ndma_walkers = 2\n[link]\nbandwidth_gb_per_s = 300\n")


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
        len(found) == 1 and "600 each way is more than the memory supplies, 1024 GB/s" in found[0]
    )


def test_a_peak_that_the_memory_cannot_feed(tmp_path):
    """160 tiles of 128 x 96 run at a time: a square of 12.6 x 12.6 tiles shares its reads."""
    assert not changed(tmp_path, "[gpu]\nflops_per_cycle_per_cu = 4096\n")
    (one,) = changed(tmp_path, "[gpu]\nflops_per_cycle_per_cu = 8192\n")
    wanted = (1 / 128 + 1 / 96) / 160**0.5 * 80 * 8192 * 1.4
    assert one.startswith("mine: gpu: at its peak of 918 TFLOP/s the GEMM takes at least")
    assert f"{wanted:,.0f} GB/s" in one and wanted > 1024
