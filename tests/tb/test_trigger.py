import pytest

from tb.trigger.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/lockstep has one in Amaranth
def test_trigger(bench):
    bench(make_dut(), name="trigger", test_module="tb.trigger.bench", seed=4609)
