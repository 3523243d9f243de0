import pytest

from tb.protected_memory.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl/lib/test_protected_queue.py has one in Amaranth
def test_protected_memory(bench):
    bench(make_dut(), name="protected_memory", test_module="tb.protected_memory.bench", seed=4311)
