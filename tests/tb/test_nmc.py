import pytest

from tb.nmc.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl has one in Amaranth
def test_reduce_unit(bench):
    bench(make_dut(), name="nmc", test_module="tb.nmc.bench", seed=7004)
