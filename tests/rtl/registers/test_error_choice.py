"""Of all errors of a cycle the first of each context, and of none; those of banks and units a cycle
later."""

import random

from amaranth.sim import Simulator

from rtl.parameters import T3Parameters
from rtl.registers.error_choice import ErrorChoice

CONTEXTS, CHANNELS, BANKS, OWN = 2, 3, 2, 2


def first(errors, owner):
    """Number of an owner's first error, or of one of nobody's (None); None if there is none."""
    of_owner = (index for who, index in errors if who == owner)
    return next(of_owner, None)


def test_first_of_each():
    seed = 3
    print("seed", seed)
    rng = random.Random(seed)

    async def bench(ctx):
        outputs = {0: dut.contexts[0], 1: dut.contexts[1], "stray": dut.stray}
        waiting = []
        for _ in range(500):
            often = rng.choice([0.0, 0.1, 0.7])
            ports = [(port, rng.choice([0, 1, "stray"])) for port in dut.channels]
            ports += [(port, rng.choice([0, 1])) for port in dut.banks]
            ports += [(port, n) for n in range(CONTEXTS) for port in dut.own[n]]
            come = []
            for number, (port, owner) in enumerate(ports):
                valid = rng.random() < often
                ctx.set(port.valid, valid)
                ctx.set(port.report.stray, owner == "stray")
                ctx.set(port.report.owner, 0 if owner == "stray" else owner)
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
            assert ctx.get(dut.awake) == (bool(later) or bool(waiting))
            await ctx.tick()
            waiting = later

    dut = ErrorChoice(T3Parameters(contexts=CONTEXTS), channels=CHANNELS, banks=BANKS, own=OWN)
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
