import pytest

from tb.map_table.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl has one in Amaranth
def test_map_table(bench):
    bench(make_dut(), name="map_table", test_module="tb.map_table.bench", seed=4912)
