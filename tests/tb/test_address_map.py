import pytest

from tb.address_map.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl has one in Amaranth
def test_address_map(bench):
    bench(make_dut(), name="address_map", test_module="tb.address_map.bench", seed=4203)
