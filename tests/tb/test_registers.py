import pytest

from tb.registers.bench import make_dut


@pytest.mark.verify  # the short run, too: tests/rtl and tests/lockstep have ones in Amaranth
def test_register_port(bench):
    bench(make_dut(), name="registers", test_module="tb.registers.bench", seed=6005)
