import pytest

from tb.top.bench import make_dut


@pytest.mark.verify  # the short run, too: its build is long, and tests/lockstep has it natively
@pytest.mark.parametrize("with_data", [False, True], ids=["tags", "data"])
def test_top(bench, with_data):
    bench(make_dut(with_data=with_data), name="t3", test_module="tb.top.bench", seed=5215)
