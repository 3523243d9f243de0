"""Devices and simulators that are made once: elaboration takes a second, a reset none."""

from functools import cache

from amaranth.sim import Simulator

__all__ = ["device", "simulate"]


@cache
def device(kind, *arguments):
    """The device of these arguments, for :func:`simulate` alone."""
    return kind(*arguments)


@cache
def _simulator(dut):
    """Of a device, and the benches that it runs next."""
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
    """Run a bench from the device's reset on, with another beside it for as long."""
    simulator, benches = _simulator(dut)
    if benches:
        simulator.reset()
    benches.update(bench=bench, background=background)
    simulator.run()
