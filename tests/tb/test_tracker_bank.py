import pytest

from tb.tracker_bank.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/lockstep has one in Amaranth
def test_tracker_bank(bench):
    bench(make_dut(), name="tracker_bank_small", test_module="tb.tracker_bank.bench", seed=5114)
