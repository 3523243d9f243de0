"""Of all errors of a cycle the first of each context, and of none, a cycle later."""

import random

from amaranth.sim import Simulator

from rtl.parameters import T3Parameters
from rtl.registers.error_choice import ErrorChoice

CONTEXTS, SHARED, OWN = 2, 5, 2


def first(errors, owner):
    """Number of an owner's first error, or of one of nobody's (None); None if there is none."""
    of_owner = (index for who, index in errors if who == owner)
    return next(of_owner, None)


def test_first_of_each():
    seed = 3
    print("seed", seed)
    rng = random.Random(seed)

    async def bench(ctx):
        expected = {owner: None for owner in (0, 1, "stray")}
        for _ in range(500):
            outputs = {0: dut.contexts[0], 1: dut.contexts[1], "stray": dut.stray}
            for owner, out in outputs.items():
                assert ctx.get(out.valid) == (expected[owner] is not None)
                if expected[owner] is not None:
                    assert ctx.get(out.report.dispatch_index) == expected[owner]
            came = []
            often = rng.choice([0.0, 0.1, 0.7])
            ports = [(port, rng.choice([0, 1, "stray"])) for port in dut.shared]
            ports += [(port, n) for n in range(CONTEXTS) for port in dut.own[n]]
            for number, (port, owner) in enumerate(ports):
                valid = rng.random() < often
                ctx.set(port.valid, valid)
                ctx.set(port.report.stray, owner == "stray")
                ctx.set(port.report.owner, 0 if owner == "stray" else owner)
                ctx.set(port.report.dispatch_index, number)
                if valid:
                    came.append((owner, number))
            waits = any(index is not None for index in expected.values())
            assert ctx.get(dut.awake) == (bool(came) or waits)
            await ctx.tick()
            expected = {owner: first(came, owner) for owner in expected}

    dut = ErrorChoice(T3Parameters(contexts=CONTEXTS), shared=SHARED, own=OWN)
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
