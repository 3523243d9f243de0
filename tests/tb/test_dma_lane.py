import pytest

from tb.dma_lane.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl has one in Amaranth
def test_dma_lane(bench):
    bench(make_dut(), name="dma_lane", test_module="tb.dma_lane.bench", seed=4409)
