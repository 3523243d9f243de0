import pytest

from tb.channel.bench import make_dut


@pytest.mark.verify  # the short run, too: its build is long, and tests/rtl has one in Amaranth
def test_channel(bench):
    bench(make_dut(), name="channel", test_module="tb.channel.bench", seed=4511)
