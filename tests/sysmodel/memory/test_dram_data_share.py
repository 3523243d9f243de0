"""Largest share of the data bus's time with data."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.engine.codes import READ, WRITE
from t3.experiments.dram.patterns import mixed, sequential
from t3.experiments.dram.serve import fraction_of_peak
from tests.support.dram_harness import BARE, Channel

_CREDIT_ATOMS = 8


@pytest.mark.parametrize("permille", [1000, 905, 766, 500, 333])
@pytest.mark.parametrize("access", [READ, WRITE])
@pytest.mark.parametrize("burst", [1, 2])
def test_a_stream_has_the_share(permille, access, burst):
    t = replace(
        BARE, burst=burst, tCCD_S=burst, tCCD_L=burst, tCCD_WL=burst, tRTW=burst,
        data_permille=permille,
    )  # fmt: skip
    share = fraction_of_peak(t, sequential(access))
    assert share == pytest.approx(permille / 1000, rel=0.005)


def test_a_pause_is_caught_up_by_eight_atoms():
    """At half of the time with data, the eight are one cycle apart, all others two."""
    channel = Channel(replace(BARE, data_permille=500))
    channel.open(0)
    times = channel.issue_times(*((READ, 0, 0, column) for column in range(40)))
    gaps = np.diff(times)
    assert (gaps[: _CREDIT_ATOMS - 1] == 1).all()
    assert times[-1] - times[0] == 2 * 39 - _CREDIT_ATOMS


def test_losses_below_the_rest_of_the_time_are_hidden():
    """A turn costs a few cycles here: a mix that reaches 0.85 alone has its share of 0.7."""
    t = replace(BARE, tRTW=4, tWTR_S=2, tWTR_L=2)
    pattern = mixed(offset_bytes=1 << 12)
    alone = fraction_of_peak(t, pattern)
    assert alone > 0.8
    share = fraction_of_peak(replace(t, data_permille=700), pattern)
    assert share == pytest.approx(0.7, rel=0.03)
