import pytest

from tb.notice_queue.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl has one in Amaranth
def test_notice_queue(bench):
    bench(make_dut(), name="notice_queue", test_module="tb.notice_queue.bench", seed=4305)
