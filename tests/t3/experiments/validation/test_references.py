"""Our rates beside the reference figures, and the statements of the comparison."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.engine.codes import READ, WRITE
from t3.experiments.dram.loop import Front
from t3.experiments.dram.patterns import Pattern
from t3.experiments.dram.serve import serve
from t3.experiments.validation.dram_comparison import (
    DramComparison,
    channel_like,
    compare_dram,
    is_sequential,
    span,
)
from t3.experiments.validation.references import dram_references, ring_references
from t3.experiments.validation.ring_comparison import (
    RingComparison,
    compare_rings,
    other_rings,
)

DRAM = dram_references()


@pytest.fixture(scope="module")
def compared():
    return [one for one in compare_dram(DRAM) if one.binding]


def test_every_row_of_the_files_is_read():
    assert len(DRAM) == 26 + 80 and len(ring_references()) == 24
    first, last = DRAM[0], DRAM[-1]
    assert (first.simulator, first.pattern, first.write_queue) == ("ramulator2.1", "seq_read", 64)
    assert first.refresh == "all-bank" and first.fraction_of_peak == 0.9192
    assert (last.standard, last.offered_per_cycle, last.refresh) == ("HBM2", 1, "none")
    assert last.fraction_of_peak == 0.8728 and last.columns["nFAW"] == "15"
    assert sum(one.refresh == "per-bank" for one in DRAM) == 16
    assert ring_references()[0].time_ns == 241504


def test_sequential_is_within_two_percent_of_every_figure(compared):
    chosen = [one for one in compared if is_sequential(one.reference)]
    assert len(chosen) == 14 + 32
    for one in chosen:
        assert one.ours == pytest.approx(one.reference.fraction_of_peak, rel=0.02)
        assert one.holds


def test_mixes_of_hbm2_are_inside_the_widened_span(compared):
    chosen = [
        one for one in compared if not is_sequential(one.reference) and not one.reference.columns
    ]
    assert len(chosen) == 12
    for one in chosen:
        figures = [
            other.fraction_of_peak
            for other in DRAM
            if other.pattern == "rw_1to1"
            and other.channel == one.reference.channel
            and other.refresh == one.reference.refresh
            and bool(other.region_offset_bytes) == bool(one.reference.region_offset_bytes)
        ]
        assert 0.95 * min(figures) <= one.ours <= 1.05 * max(figures)
        assert one.holds


def test_mixes_of_ramulator_are_within_three_percent_of_every_figure(compared):
    """HBM2, HBM3 and HBM4, whichever file, rate and bank: no figure was fitted to."""
    chosen = [
        one
        for one in compared
        if one.reference.simulator == "ramulator2.1" and not is_sequential(one.reference)
    ]
    assert len(chosen) == 4 + 32
    for one in chosen:
        assert one.ours == pytest.approx(one.reference.fraction_of_peak, rel=0.03)


def test_span_is_of_like_conditions():
    base = next(one for one in DRAM if one.pattern == "rw_1to1")
    low, high = (replace(base, fraction_of_peak=value) for value in (0.4, 0.6))
    unlike = [
        replace(base, refresh="none", fraction_of_peak=0.1),
        replace(base, region_offset_bytes=0, fraction_of_peak=0.2),
        replace(base, channel="hbm2_128bit_bl4_64B", fraction_of_peak=0.9),
        replace(base, pattern="seq_read", fraction_of_peak=0.99),
    ]
    assert span(low, [low, high, *unlike]) == pytest.approx((0.95 * 0.4, 1.05 * 0.6))


def test_a_figure_holds_between_its_bounds():
    for ours, holds in ((0.4, True), (0.6, True), (0.39, False), (0.61, False)):
        assert DramComparison(DRAM[0], ours, 0.4, 0.6).holds == holds


def test_each_simulators_own_queues():
    def like(simulator, queue):
        one = replace(DRAM[2], simulator=simulator, read_queue=queue, write_queue=queue)
        return channel_like(one)

    def marks(timing):
        return timing.queue_depth, timing.write_queue, timing.write_high, timing.write_low

    # Shared by both pseudo-channels: above 51.2 of 64, below 12.8; above 25.6 of 32, below 6.4.
    assert marks(like("ramulator2.1", 64).timing) == (128, 64, 52, 12)
    assert marks(like("ramulator2.1", 32).timing) == (64, 32, 26, 6)
    assert like("ramulator2.1", 32).timing.shared_queue
    # Each pseudo-channel releases them whole among the reads.
    dramsim3 = like("dramsim3", 32)
    assert dramsim3.front == Front(32, 8) and marks(dramsim3.timing) == (64, 0, 0, 0)


def test_rows_of_dramsim3_have_two_kilobytes():
    """64 columns of its file, twice that many of the bus, in accesses of four."""
    for width, channel in ((8, "hbm2_2pc"), (16, "hbm2_128bit_bl4_64B")):
        rows = [one for one in DRAM if (one.simulator, one.channel) == ("dramsim3", channel)]
        for one in map(channel_like, rows):
            assert one.timing.columns * one.atom_bytes == 2048
            assert one.atom_bytes == 4 * width


@pytest.mark.parametrize("name", ["HBM3_16Gb_8hi", "HBM4_32Gb_8Hi", "HBM2_4Gb"])
def test_turns_between_random_reads_and_writes_close_no_row_unused(name):
    """Each request takes one activate, and the window of four of them bounds mixes as it bounds
    reads."""
    row = next(one for one in DRAM if (one.channel, one.refresh) == (name, "none"))
    channel, requests = channel_like(row), 30_000
    atoms = np.random.default_rng(1).integers(0, 1 << 24, requests)
    mixed, reads = (
        serve(
            channel.timing,
            Pattern(atoms, np.where(np.arange(requests) % 2, second, READ)),
            address_map=channel.address_map,
        )
        for second in (WRITE, READ)
    )
    assert mixed.activates == pytest.approx(requests, rel=0.01)
    assert 0.92 * reads.share_of_peak < mixed.share_of_peak < reads.share_of_peak
    assert reads.share_of_peak < 4 * channel.timing.burst / channel.timing.tFAW


def test_a_row_brings_its_own_timing_and_mapping():
    """Issue to issue, as that simulator counts from the last half clock of a command."""
    row = next(one for one in DRAM if one.channel == "HBM3_16Gb_8hi")
    channel = channel_like(row)
    t = channel.timing
    assert channel.address_map == "pseudo:1 group:2 column:5 bank:2 stack:1"
    assert (t.banks, t.stack_ids, t.burst, t.tFAW, t.tCCD_R) == (32, 2, 2, 24, 3)
    assert (t.tRCD_RD, t.tRCD_WR, t.tRP, t.tRAS, t.tRC) == (32, 16, 25, 46, 72)
    assert (t.activate_half_cycles, t.precharge_half_cycles) == (3, 1)


def test_a_figure_that_is_off_is_reported():
    right = compare_dram(DRAM[:1])[0].ours
    (one,) = compare_dram([replace(DRAM[0], fraction_of_peak=0.8)])
    assert not one.holds
    assert one.difference == pytest.approx(right / 0.8 - 1)


def test_per_bank_refresh_of_that_controller_binds_nothing():
    row = next(one for one in DRAM if one.refresh == "per-bank")
    one = DramComparison(row, 0.99, 0.6, 0.7)
    assert one.holds and not one.binding


def _assert_within_a_percent(rings):
    for one in compare_rings(rings):
        assert one.ours_ns == pytest.approx(one.reference.time_ns, rel=0.01)
        # The reference itself is the closed form.
        assert one.closed_form_ns == pytest.approx(one.reference.time_ns, rel=1e-4)


def test_rings_are_within_a_percent_of_every_time_up_to_24_mb():
    chosen = [one for one in ring_references() if one.buffer_bytes == 24_000_000]
    assert len(chosen) == 8
    _assert_within_a_percent(chosen)


@pytest.mark.verify
def test_rings_are_within_a_percent_of_every_time():
    _assert_within_a_percent(ring_references())


def test_other_rings_are_within_a_percent_of_the_closed_form():
    for one in compare_rings(other_rings()):
        assert one.holds and one.ours_ns == pytest.approx(one.closed_form_ns, rel=0.01)


def test_a_time_that_is_off_is_reported():
    one = ring_references()[0]
    assert not RingComparison(one, one.time_ns * 1.011).holds
    assert not RingComparison(one, one.time_ns * 0.989).holds
    assert RingComparison(one, one.time_ns * 1.009).holds
