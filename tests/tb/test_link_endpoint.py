import pytest

from tb.link_endpoint.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl has one in Amaranth
def test_link_endpoint(bench):
    bench(make_dut(), name="link_endpoint", test_module="tb.link_endpoint.bench", seed=6104)
