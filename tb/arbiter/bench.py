"""Bench of the arbiter: choices, order, losses and starvation under long random traffic."""

import random
from itertools import product

import cocotb

from rtl.channel.arbitration.arbiter import Arbiter
from rtl.interface.encodings import Policy
from tb.arbiter.driver import LEVELS, PARAMETERS, RUNS, Driver
from tb.arbiter.measurements import (
    a_measurement_begun_anew_among_full_blocks,
    a_measurement_through_the_blocks_of_its_counts,
    long_measurement,
    short_measurements,
    the_end_of_any_measurement,
)
from tb.cycle import clock_stops, inputs_of, scaled
from tb.golden import SIGNALS

__all__ = [
    "PARAMETERS",
    "a_measurement_begun_anew_among_full_blocks",
    "a_measurement_through_the_blocks_of_its_counts",
    "long_measurement",
    "make_dut",
    "short_measurements",
    "the_end_of_any_measurement",
]

_CYCLES = 150
_WAITS = 90


def make_dut(block: type = Arbiter):
    return block(PARAMETERS)


def _random_configuration(rng: random.Random) -> dict:
    almost = 127 ^ 1 << rng.randrange(7)
    levels = [rng.choice([almost, rng.getrandbits(7)]) for _ in range(3)]
    return {
        "automatic": rng.getrandbits(1),
        "threshold": rng.choice([0, 5, 10, 30, 127, almost, rng.getrandbits(7)]),
        "starvation_limit": rng.choice([0, 3, 50, 0xFFFF, 1 << rng.randrange(16)]),
        "measure_log2": rng.randrange(10),
        "cuts": sorted(rng.sample(range(rng.choice([20, 80, 128])), 3)),
        "levels": rng.choice([LEVELS[1:], levels]),
    }


@cocotb.test()
async def every_choice(dut):
    """Every policy, under every load, agrees with the model."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Driver(dut)
    await bench.start()
    for number in range(60):
        policy = list(Policy)[number % len(Policy)]
        bench.configure(**_random_configuration(rng) | {"policy": policy})
        rates = {name: rng.choice([0.1, 0.5, 0.9, 1]) for name in "cm"}
        ready, most = rng.choice([0.3, 0.9, 1]), rng.randrange(1, 128)
        on = {name: rng.choice([0.1, 0.5, 0.9, 1]) for name in SIGNALS}
        for cycle in range(scaled(_CYCLES)):
            requests = "".join(name for name in "cm" if rng.random() < rates[name])
            await bench.cycle(
                requests,
                ready=rng.random() < ready,
                occupancy=rng.randrange(most),
                start=cycle == 5 or rng.random() < 0.002,
                signals=[name for name in SIGNALS if rng.random() < on[name]],
            )
    assert min(bench.served.values()) > 500


@cocotb.test()
async def round_robin_shares(dut):
    """Under full load, a request leaves in every cycle, and each stream gets half of the cycles."""
    bench = Driver(dut)
    await bench.start()
    bench.configure(policy=Policy.ROUND_ROBIN)
    for _ in range(1000):
        await bench.cycle("cm")
    assert bench.served == {"c": 500, "m": 500}


@cocotb.test()
async def nothing_starves(dut):
    """With a full DRAM queue, with and without compute, communication waits for its limit and never
    longer. If communication is critical, the same holds for compute.
    """
    bench = Driver(dut)
    await bench.start()
    for requests in ("cm", "m"):
        for limit in (1, 9, 100):
            bench.configure(policy=Policy.MCA, threshold=5, starvation_limit=limit)
            bench.longest_wait = 0
            before = bench.served["m"]
            for _ in range(10 * (limit + 1)):
                await bench.cycle(requests, occupancy=64)
            assert bench.longest_wait == limit
            assert bench.served["m"] - before == 10
    for limit in (1, 9, 100):
        bench.configure(policy=Policy.CRITICAL, threshold=5, starvation_limit=limit)
        before = bench.served["c"]
        for _ in range(10 * (limit + 1)):
            await bench.cycle("cm", occupancy=64, signals=("critical",))
        assert bench.served["c"] - before == 10


@cocotb.test()
async def every_combination_of_signals(dut):
    """All combinations of the signals agree with the model, below the threshold and at it, with
    and without compute.
    """
    bench = Driver(dut)
    await bench.start()
    for policy in (Policy.MCA, Policy.MCA_PAPER, Policy.CRITICAL):
        bench.configure(policy=policy, threshold=5, starvation_limit=3)
        for number in range(1 << len(SIGNALS)):
            signals = [name for bit, name in enumerate(SIGNALS) if number >> bit & 1]
            for requests, occupancy in product(("m", "cm"), (4, 5)):
                for _ in range(5):
                    await bench.cycle(requests, occupancy=occupancy, signals=signals)


@cocotb.test()
async def starvation_count_saturates(dut):
    """The wait reaches its limit in one cycle and stays there, however long the queue is full."""
    bench = Driver(dut)
    await bench.start()
    bench.configure(policy=Policy.MCA, threshold=5, starvation_limit=65535)
    await bench.wait(600, "cm", occupancy=64)
    bench.preset_waits(65534, 65534)
    for _ in range(20):
        await bench.cycle("cm", ready=False, occupancy=64)
    await bench.cycle("cm", occupancy=64)
    assert bench.served == {"c": 0, "m": 1}
    # Compute has waited equally long, but less than its limit while communication is critical.
    bench.configure(policy=Policy.CRITICAL, starvation_limit=65535)
    await bench.cycle("cm", signals=("critical",))
    assert bench.served == {"c": 1, "m": 1}


@cocotb.test()
async def the_end_of_any_wait(dut):
    """A wait reaches a limit of any size from shortly before it, or differs from the limit by one
    bit.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 4)
    bench = Driver(dut)
    await bench.start()
    for number in range(scaled(_WAITS)):
        limit = rng.choice([1 << rng.randrange(16), rng.randrange(1, 1 << 16)])
        start = limit ^ 1 << rng.randrange(16)
        if number % 3 == 1:
            start = max(limit - rng.randint(1, 5), 0)
        elif number % 3 == 2:  # begins with a single 0 bit, at which carries end
            start = 0xFFFF ^ 1 << rng.randrange(16)
            limit = min(start + rng.randint(1, 5), 0xFFFF)
        policy, signals = rng.choice([(Policy.MCA, RUNS), (Policy.CRITICAL, ("critical",))])
        bench.configure(policy=policy, threshold=5, starvation_limit=limit)
        # Usually both streams have waited before, otherwise only one of them.
        waits = rng.choice([(start, start), (start, start), (start, 0), (0, start)])
        bench.preset_waits(*waits)
        for _ in range(8):
            await bench.cycle("cm", ready=rng.random() < 0.8, occupancy=64, signals=signals)


@cocotb.test()
async def a_wait_that_ends_without_a_turn(dut):
    """The count restarts with the next wait, whatever its previous value."""
    rng = random.Random(cocotb.RANDOM_SEED + 5)
    bench = Driver(dut)
    await bench.start()
    for bit in range(16):
        for which, (policy, signals) in enumerate(
            ((Policy.MCA, RUNS), (Policy.CRITICAL, ("critical",)))
        ):
            waits = [0, 0]
            waits[which] = 1 << bit
            bench.configure(policy=policy, threshold=5, starvation_limit=max(1 << bit, 4))
            bench.preset_waits(*waits)
            await bench.cycle("", occupancy=64)
            for _ in range(rng.randint(1, 3)):
                await bench.cycle("cm", occupancy=64, signals=signals)
            await bench.cycle("", occupancy=64)


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, inputs_of(make_dut()))
