"""Tests of the occupancy measurement: its end, its level, and its counters at any value."""

import random

import cocotb

from rtl.interface.encodings import Policy
from tb.arbiter.driver import LEVELS, LOW_BITS, Driver
from tb.cycle import scaled
from tb.inside import BLOCK_BITS, blocks_of_a_count

__all__ = [
    "a_measurement_begun_anew_among_full_blocks",
    "a_measurement_through_the_blocks_of_its_counts",
    "long_measurement",
    "short_measurements",
    "the_end_of_any_measurement",
]

_MEASUREMENTS = 80
_LONG_LOG2 = 10  # log2 of the number of samples in a long measurement


@cocotb.test()
async def long_measurement(dut):
    """A nearly maximal sum of many samples selects the right level, in the right cycle."""
    bench = Driver(dut)
    await bench.start()
    for occupancy, level in ((127, 5), (79, 10)):
        bench.configure(
            policy=Policy.MCA,
            automatic=1,
            starvation_limit=0xFFFF,
            measure_log2=_LONG_LOG2,
            cuts=[40, 79, 127],
            levels=LEVELS[1:],
        )
        await bench.cycle("m", occupancy=occupancy, start=True)
        await bench.wait((1 << _LONG_LOG2) - 3, "", occupancy=occupancy)
        for _ in range(8):
            await bench.cycle("m", occupancy=occupancy)
        assert bench.measurement["measured"] == level
        await bench.cycle("m", occupancy=level)
        await bench.cycle("m", occupancy=level - 1)


@cocotb.test()
async def short_measurements(dut):
    """The level is right for a mean at a cut, and for a sum that is smaller by one or by a power of
    two.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 4)
    bench = Driver(dut)
    await bench.start()
    for log2 in [*range(6)] * scaled(4):
        cut = bench.measure(rng, log2)
        total = (cut << log2) - rng.choice([0, 1, 1 << rng.randrange(log2 + 6)])
        await bench.cycle("m", start=True)
        await bench.end_with(rng, max(total, 0), 1 << log2)


@cocotb.test()
async def the_end_of_any_measurement(dut):
    """Measurements of any length end, even after hours: the bench presets the counters to values
    shortly before the end.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    bench = Driver(dut)
    await bench.start()
    for _ in range(scaled(_MEASUREMENTS)):
        log2 = rng.randint(10, 31)
        left = rng.randint(4, 12)
        samples = (1 << log2) - left
        cut = bench.measure(rng, log2)
        # The final mean is above the cut, or just below it.
        total = (cut << log2) + rng.choice(
            [0, 1, -1, rng.getrandbits(log2), -rng.getrandbits(log2)]
        )
        before = max(total - left * 64, 0)
        await bench.cycle("m", start=True)
        await bench.cycle("")
        bench.preset(samples, before)
        await bench.end_with(rng, total, left)


@cocotb.test()
async def a_measurement_through_the_blocks_of_its_counts(dut):
    """A block of both counters becomes full, or nearly full; with ones in the blocks below, it then
    carries or does not.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    bench = Driver(dut)
    await bench.start()
    # A long measurement covers the lowest block.
    blocks = [(at, block) for at, block in blocks_of_a_count(32 - LOW_BITS) if at]
    for at, block in blocks * scaled(1):
        above = at + BLOCK_BITS
        log2 = rng.randint(above + LOW_BITS, 31)
        cut = bench.measure(rng, log2)
        low = block << at | (1 << at) - 1
        # The blocks above hold the expected value only if exactly the full block has carried.
        goals = [(1 << log2) - (1 << above), (cut << log2 >> LOW_BITS) - (1 << above)]
        full = block == (1 << BLOCK_BITS) - 1
        samples, carries = (goal - (full << above) + low - (1 << at) for goal in goals)
        await bench.cycle("m", start=True)
        await bench.cycle("")
        bench.preset(samples, carries << LOW_BITS | (1 << LOW_BITS) - 1)
        await bench.cycle("m", occupancy=127)
        bench.fill(at)
        for _ in range(rng.randint(1, 3)):
            await bench.cycle("m", occupancy=127)
        left = rng.randint(4, 8)
        bench.fill(above, left=left, below=rng.randrange(2))
        await bench.end_with(rng, (cut << log2) + rng.choice([-1, 0]), left + 1)


@cocotb.test()
async def a_measurement_begun_anew_among_full_blocks(dut):
    """A new start clears the full blocks, which carry only when they are full again."""
    rng = random.Random(cocotb.RANDOM_SEED + 6)
    bench = Driver(dut)
    await bench.start()
    for at in (0, BLOCK_BITS, 2 * BLOCK_BITS) * scaled(1):
        above = at + BLOCK_BITS
        cut = bench.measure(rng, above)
        await bench.cycle("m", start=True)
        await bench.cycle("")
        full = (1 << above) - (1 << at)
        bench.preset(full, full << LOW_BITS | (1 << LOW_BITS) - 1)
        await bench.cycle("m", start=True)
        await bench.cycle("m", occupancy=127)
        bench.fill(at)
        for _ in range(3):
            await bench.cycle("m", occupancy=127)
        left = rng.randint(4, 8)
        goal = (cut << above) + rng.choice([-1, 0])
        reached = (goal >> LOW_BITS) - left // 2
        bench.fill(above, left=left, below=(1 << above) - 1 - reached)
        await bench.end_with(rng, goal, left + 1)
