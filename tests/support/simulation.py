"""Devices and simulators that tests share: elaboration takes a second, a reset none."""

from functools import cache

from amaranth.sim import Simulator

from verification.mutation.clocks import stopped

__all__ = ["device", "run_gated", "simulate"]


@cache
def device(kind, *arguments):
    """Return the device of these arguments; only :func:`simulate` may run it."""
    return kind(*arguments)


@cache
def _simulator(dut):
    """Return the simulator of a design, and the benches of its next run."""
    simulator, benches = Simulator(dut), {}
    simulator.add_clock(1e-9)

    async def run(ctx):
        await benches["bench"](ctx)

    async def run_background(ctx):
        if benches["background"] is not None:
            await benches["background"](ctx)

    simulator.add_testbench(run_background, background=True)
    simulator.add_testbench(run)
    return simulator, benches


def simulate(dut, bench, *, background=None):
    """Run a bench from the design's reset to the bench's end, with ``background`` beside it."""
    simulator, benches = _simulator(dut)
    if benches:
        simulator.reset()
    benches.update(bench=bench, background=background)
    simulator.run()


def run_gated(dut, bench):
    """Run a bench on a block whose clock stops while its clock enable is low."""
    simulator = Simulator(stopped(dut))
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
