import pytest

from tb.credit_window.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/lockstep has one in Amaranth
def test_region(bench):
    bench(make_dut(), name="credit_window", test_module="tb.credit_window.bench", seed=4811)
