import pytest

from tb.issue_ack_queue.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl has one in Amaranth
def test_issue_ack_queue(bench):
    bench(make_dut(), name="issue_ack_queue", test_module="tb.issue_ack_queue.bench", seed=4305)
