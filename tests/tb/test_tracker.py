import pytest

from tb.tracker.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/lockstep has one in Amaranth
def test_tracker_bank(bench):
    bench(make_dut(), name="tracker_bank", test_module="tb.tracker.bench", seed=8121)
