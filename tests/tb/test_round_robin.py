import pytest

from tb.round_robin.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl has one in Amaranth
def test_round_robin(bench):
    bench(make_dut(), name="round_robin", test_module="tb.round_robin.bench", seed=4320)
