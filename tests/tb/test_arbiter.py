import pytest

from tb.arbiter.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl has one in Amaranth
def test_arbiter(bench):
    bench(make_dut(), name="arbiter", test_module="tb.arbiter.bench", seed=7010)
