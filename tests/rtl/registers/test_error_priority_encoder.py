"""Error priority encoder: reports the first error of each context, and of none, in every cycle;
errors of banks and units come one cycle later."""

import random

from amaranth.sim import Simulator

from rtl.parameters import T3Parameters
from rtl.registers.error_priority_encoder import ErrorPriorityEncoder

CONTEXTS, CHANNELS, BANKS, OWN = 2, 3, 2, 2


def first(errors, owner):
    """Number of the first error of an owner (or the first unowned error); None if there is none."""
    of_owner = (index for its_owner, index in errors if its_owner == owner)
    return next(of_owner, None)


def test_first_of_each():
    seed = 3
    print("seed", seed)
    rng = random.Random(seed)

    async def bench(ctx):
        outputs = {0: dut.contexts[0], 1: dut.contexts[1], "unowned": dut.unowned}
        waiting = []
        for _ in range(500):
            often = rng.choice([0.0, 0.1, 0.7])
            ports = [(port, rng.choice([0, 1, "unowned"])) for port in dut.channels]
            ports += [(port, rng.choice([0, 1])) for port in dut.banks]
            ports += [(port, n) for n in range(CONTEXTS) for port in dut.own[n]]
            come = []
            for number, (port, owner) in enumerate(ports):
                valid = rng.random() < often
                ctx.set(port.valid, valid)
                ctx.set(port.report.unowned, owner == "unowned")
                ctx.set(port.report.owner, 0 if owner == "unowned" else owner)
                ctx.set(port.report.dispatch_index, number)
                if valid:
                    come.append((owner, number))
            at_once = [error for error in come if error[1] < CHANNELS]
            for owner, out in outputs.items():
                expected = first(at_once + waiting, owner)
                assert ctx.get(out.valid) == (expected is not None)
                if expected is not None:
                    assert ctx.get(out.report.dispatch_index) == expected
            later = come[len(at_once) :]
            assert ctx.get(dut.clock_enable) == (bool(later) or bool(waiting))
            await ctx.tick()
            waiting = later

    dut = ErrorPriorityEncoder(
        T3Parameters(contexts=CONTEXTS), channels=CHANNELS, banks=BANKS, own=OWN
    )
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
