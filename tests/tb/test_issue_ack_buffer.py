import pytest

from tb.issue_ack_buffer.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl/lib/test_protected_queue.py has one in Amaranth
def test_issue_ack_buffer(bench):
    bench(make_dut(), name="issue_ack_buffer", test_module="tb.issue_ack_buffer.bench", seed=4310)
