import pytest

from tb.top.bench import make_dut


@pytest.mark.verify  # the short run, too: its build is long, and tests/lockstep has it natively
@pytest.mark.parametrize("payload", [False, True], ids=["tags", "payload"])
def test_top(bench, payload):
    bench(make_dut(payload=payload), name="t3", test_module="tb.top.bench", seed=5215)
