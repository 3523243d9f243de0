import random

import pytest

from rtl.lib.pipeline_register import PipelineRegister
from tests.support.simulation import run_gated


def test_wrong_widths():
    with pytest.raises(TypeError, match=r"Width must be an integer, not '8'"):
        PipelineRegister("8")
    with pytest.raises(ValueError, match=r"Width must be at least 1, not 0"):
        PipelineRegister(0)


def check(kind=PipelineRegister):
    """The clock of the register is enabled only in the cycle before the value changes."""
    seed = 5
    print("seed", seed)
    rng = random.Random(seed)
    values = [rng.randrange(4) for _ in range(200)]

    async def bench(ctx):
        for before, value in zip([0, *values], values, strict=False):
            ctx.set(dut.i, value)
            assert ctx.get(dut.clock_enable) == (value != before)
            await ctx.tick()
            assert ctx.get(dut.o) == value

    dut = kind(2)
    run_gated(dut, bench)


def test_a_cycle_later():
    check()
