import pytest

from tb.tracker_front.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl has one in Amaranth
def test_tracker_front(bench):
    bench(make_dut(), name="tracker_front", test_module="tb.tracker_front.bench", seed=5013)
