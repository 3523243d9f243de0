"""Memory streams of whole GPUs: the published rows, and our channels beside them."""

from dataclasses import replace

import pytest

from sysmodel.config.system import load_system
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
    peaks_gb_per_s = {"h100": 3350, "h200": 4800, "mi300x": 5300}
    for one in STREAMS:
        assert load_system(one.gpu).dram_bytes_per_ns == pytest.approx(
            peaks_gb_per_s[one.gpu], rel=1e-3
        )
        assert 0.7 < one.gb_per_s / peaks_gb_per_s[one.gpu] < 1


def test_a_rate_that_is_off_is_reported():
    one = replace(STREAMS[0], gb_per_s=1000.0)
    section = stream_section([StreamComparison(one, 0.9)])
    assert section.table.rows[0][-1] == "no" and len(section.broken) == 1
