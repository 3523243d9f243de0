import pytest

from tb.dma.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/lockstep has one in Amaranth
def test_dma_engine(bench):
    bench(make_dut(), name="dma_engine", test_module="tb.dma.bench", seed=4710)
