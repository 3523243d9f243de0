import pytest

from tb.window.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/lockstep has one in Amaranth
def test_window(bench):
    bench(make_dut(), name="window", test_module="tb.window.bench", seed=4811)
