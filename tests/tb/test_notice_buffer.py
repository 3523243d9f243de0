import pytest

from tb.notice_buffer.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl/lib/test_protected_queue.py has one in Amaranth
def test_notice_buffer(bench):
    bench(make_dut(), name="notice_buffer", test_module="tb.notice_buffer.bench", seed=4310)
