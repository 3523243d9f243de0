"""Ours beside the reference figures, and what the comparison says of them."""

from dataclasses import replace

import pytest

from t3.experiments.validation.dram_comparison import (
    DramComparison,
    channel_like,
    compare_dram,
    is_sequential,
    span,
)
from t3.experiments.validation.patterns import fraction_of_peak, mixed, sequential
from t3.experiments.validation.references import dram_references, ring_references
from t3.experiments.validation.ring_comparison import (
    RingComparison,
    compare_rings,
    other_rings,
)
from t3.experiments.validation.timings import (
    DRAMSIM3_PSEUDO_CHANNEL,
    RAMULATOR_PSEUDO_CHANNEL,
)

DRAM = dram_references()


@pytest.fixture(scope="module")
def compared():
    return compare_dram(DRAM)


def test_every_row_of_the_files_is_read():
    assert len(DRAM) == 26 and len(ring_references()) == 24
    first = DRAM[0]
    assert (first.simulator, first.pattern, first.write_queue) == ("ramulator2.1", "seq_read", 64)
    assert first.refresh and first.fraction_of_peak == 0.9192
    assert sum(not one.refresh for one in DRAM) == 11
    assert ring_references()[0].time_ns == 241504


def test_sequential_is_within_two_percent_of_every_figure(compared):
    chosen = [one for one in compared if is_sequential(one.reference)]
    assert len(chosen) == 14
    for one in chosen:
        assert one.ours == pytest.approx(one.reference.fraction_of_peak, rel=0.02)
        assert one.holds


def test_mixes_are_inside_the_widened_span(compared):
    chosen = [one for one in compared if not is_sequential(one.reference)]
    assert len(chosen) == 12
    for one in chosen:
        figures = [
            other.fraction_of_peak
            for other in DRAM
            if other.pattern == "rw_1to1"
            and other.timing == one.reference.timing
            and other.refresh == one.reference.refresh
            and bool(other.region_offset_bytes) == bool(one.reference.region_offset_bytes)
        ]
        assert 0.95 * min(figures) <= one.ours <= 1.05 * max(figures)
        assert one.holds


def test_mixes_with_ramulators_write_queue_are_within_two_percent_of_its_figures(compared):
    chosen = [
        one
        for one in compared
        if one.reference.simulator == "ramulator2.1" and not is_sequential(one.reference)
    ]
    assert len(chosen) == 4
    for one in chosen:
        assert one.ours == pytest.approx(one.reference.fraction_of_peak, rel=0.02)


@pytest.mark.parametrize("timing", [RAMULATOR_PSEUDO_CHANNEL, DRAMSIM3_PSEUDO_CHANNEL])
@pytest.mark.parametrize("refresh", [True, False])
@pytest.mark.parametrize("offset_bytes", [0, 4096, 8192])
def test_mixes_with_the_models_own_queue_are_inside_too(timing, refresh, offset_bytes):
    """Nothing but the timing is the references': their queues and drains are not set."""
    figures = [
        one.fraction_of_peak
        for one in DRAM
        if one.pattern == "rw_1to1"
        and one.timing == "hbm2_2pc"
        and one.refresh == refresh
        and bool(one.region_offset_bytes) == bool(offset_bytes)
    ]
    ours = fraction_of_peak(timing, mixed(offset_bytes=offset_bytes), refresh=refresh)
    assert 0.95 * min(figures) <= ours <= 1.05 * max(figures)


def test_span_is_of_like_conditions():
    base = next(one for one in DRAM if one.pattern == "rw_1to1")
    low, high = (replace(base, fraction_of_peak=value) for value in (0.4, 0.6))
    unlike = [
        replace(base, refresh=not base.refresh, fraction_of_peak=0.1),
        replace(base, region_offset_bytes=0, fraction_of_peak=0.2),
        replace(base, timing="hbm2_128bit_bl4_64B", fraction_of_peak=0.9),
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

    # Shared by both pseudo-channels: above 25.6 of 32, below 6.4; all slots are taken.
    assert marks(like("ramulator2.1", 64)) == (64, 32, 26, 6)
    # Above 12.8 of 16, below 3.2; a stream opens two banks at a time.
    assert marks(like("ramulator2.1", 32)) == (36, 18, 13, 3)
    # Of each pseudo-channel, released whole among the reads.
    dramsim3 = like("dramsim3", 32)
    assert marks(dramsim3) == (64, 0, 0, 0) and dramsim3.turnaround_cap == 64


def test_a_figure_that_is_off_is_noticed():
    off = [replace(one, fraction_of_peak=0.8) for one in DRAM[:1]]
    (one,) = compare_dram(off)
    assert not one.holds
    assert one.difference == pytest.approx(
        fraction_of_peak(RAMULATOR_PSEUDO_CHANNEL, sequential(0)) / 0.8 - 1, abs=1e-3
    )


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


def test_a_time_that_is_off_is_noticed():
    one = ring_references()[0]
    assert not RingComparison(one, one.time_ns * 1.011).holds
    assert not RingComparison(one, one.time_ns * 0.989).holds
    assert RingComparison(one, one.time_ns * 1.009).holds
