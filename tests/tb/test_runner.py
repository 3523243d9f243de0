import pytest

from rtl.lib.queue import Queue
from tb.queue.bench import make_dut
from tb.runner import run_bench


class Forgetful(Queue):
    """Queue that refuses an entry when one place is free."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.i.ready.eq(self.level < self.depth - 1)
        return m


@pytest.mark.verify
def test_a_broken_block_fails(tmp_path):
    with pytest.raises(AssertionError, match=r"2 of 2 tests failed in tb\.queue\.bench: \w+"):
        run_bench(
            make_dut(Forgetful),
            name="queues",
            test_module="tb.queue.bench",
            directory=tmp_path,
            seed=1,
        )


def test_unknown_simulator(tmp_path):
    with pytest.raises(ValueError, match="Simulator must be one of .* not 'x'"):
        run_bench(make_dut(), name="q", test_module="q", directory=tmp_path, seed=1, simulator="x")
