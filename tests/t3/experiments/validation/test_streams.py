"""Memory streams of whole GPUs: the published rows, and our channels beside them."""

from dataclasses import replace

import pytest

from t3.experiments.validation.references import stream_references
from t3.experiments.validation.stream_comparison import (
    STREAM_BOUND,
    StreamComparison,
    compare_streams,
)
from t3.experiments.validation.stream_sections import stream_section

STREAMS = stream_references()


def test_every_stream_of_every_gpu_is_within_five_percent():
    assert len(STREAMS) == 3 * 5 + 2 * 3
    compared = compare_streams(STREAMS)
    for one in compared:
        assert one.ours == pytest.approx(one.measured, rel=0.05)
    assert not stream_section(compared).broken and STREAM_BOUND == 0.05


def test_rates_are_below_the_data_sheets():
    for one in STREAMS:
        assert 0.7 < one.gb_per_s / one.peak_gb_per_s < 1
        # The own channels give the peak at a clock that the memory has: 16 bytes a clock.
        assert 1200 < 1e3 * one.peak_gb_per_s / (16 * one.pseudo_channels) < 1600


def test_a_rate_that_is_off_is_reported():
    one = replace(STREAMS[0], gb_per_s=1000.0)
    section = stream_section([StreamComparison(one, 0.9)])
    assert section.table.rows[0][-1] == "no" and len(section.broken) == 1
