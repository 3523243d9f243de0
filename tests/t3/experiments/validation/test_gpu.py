"""A GPU beside its model: properties read from the card, bounds, and the bytes of a GEMM alone."""

import pytest

from sysmodel.config.system import load_system
from t3.experiments.efficiency import GemmAlone, gemm_alone
from t3.experiments.validation.gpu_comparison import CardGemm, card_figures
from t3.experiments.validation.gpu_sections import (
    card_gemm_section,
    card_section,
    card_traffic_section,
)
from t3.experiments.validation.references import GemmReference, card_reference

CARD = card_reference("h200")


def on_card(k, measured, ours):
    reference = GemmReference(
        *(8192, 4256, k),
        time_ns=2e5,
        clock_mhz=1600,
        read_bytes=125_000_000,
        written_bytes=61_000_000,
        one_of_many_ns=2e5,
    )
    return CardGemm("h200", reference, measured, GemmAlone(1e5, ours, 10**8, 10**7))


@pytest.mark.parametrize("name", ["h100", "h200"])
def test_figures_of_a_card_are_physical(name):
    card, peak = card_reference(name), load_system(name)
    assert card.name.startswith(f"NVIDIA {name.upper()}") and len(card.gemms) == 21
    assert 100 < card.hit_ns < card.miss_ns < 500
    assert card.l2_mib == 2 * peak.l2.capacity_mib  # two halves, which keep the same data
    rates = dict(card.streams_gb_per_s)
    assert peak.dram_bytes_per_ns < rates.pop("read of the L2") < 10_000
    assert all(1000 < rate < peak.dram_bytes_per_ns for rate in rates.values())
    for one in card.gemms:
        flops = 2 * one.m * one.n * one.k
        assert flops / one.time_ns < peak.peak_flops_per_ns
        assert one.time_ns < 1.03 * one.one_of_many_ns
        assert 1000 < one.clock_mhz < 1980
        assert one.read_bytes >= 0.98 * 2 * one.k * (one.m + one.n)
        assert one.written_bytes <= 1.02 * 2 * one.m * one.n


@pytest.mark.parametrize(
    "k,ours,holds", [(2128, 0.89, True), (2128, 0.91, False), (532, 0.9, None)]
)
def test_bound_of_a_gemm_on_the_card(k, ours, holds):
    one = on_card(k, 0.8, ours)
    assert one.holds is holds
    section = card_gemm_section([one])
    assert len(section.broken) == (holds is False)
    assert section.table.rows[0][1] == f"8192 x 4256 x {k}"


def test_traffic_names_the_least_that_a_gemm_can_read():
    (row,) = card_traffic_section([on_card(2128, 0.8, 0.8)]).table.rows
    assert row == ("h200", "8192 x 4256 x 2128", "53", "125", "100", "−20.0 %", "70", "61", "10")


def test_memory_and_latencies_beside_the_cards():
    found = card_figures()
    figures = {one.name: one for one in found if one.preset == "h200"}
    assert figures["memory, write"].ours < 1 and figures["latency of the L2"].ours == 150
    # Ours adds up the L2, the way to the memory, activate and read.
    assert figures["latency of the memory"].ours == pytest.approx(CARD.miss_ns, rel=0.15)
    rows = card_section(found).table.rows
    assert len(rows) == 2 * 5 and rows[4][3:5] == ("503", "3,000")


def test_a_gemm_alone_reads_each_operand_and_writes_no_more_than_its_output():
    alone = gemm_alone(load_system("mi210"), 2048, 2048, 512)
    assert alone.read_bytes >= 2 * 512 * (2048 + 2048)
    assert 0 < alone.written_bytes <= 2 * 2048 * 2048
    assert 0 < alone.share_of_peak < 1


@pytest.mark.verify
def test_the_model_is_as_fast_as_a_card_with_a_small_gemm():
    reference = next(one for one in CARD.gemms if (one.m, one.n, one.k) == (2048, 6144, 2048))
    system = load_system("h200")
    alone = gemm_alone(system, reference.m, reference.n, reference.k)
    flops = 2 * reference.m * reference.n * reference.k
    gpu = system.gpu
    peak = gpu.compute_units * gpu.flops_per_cycle_per_cu * reference.clock_mhz * 1e-3
    assert alone.share_of_peak == pytest.approx(flops / (reference.time_ns * peak), abs=0.1)
