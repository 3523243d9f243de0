"""Clock cycle as seen by every bench.

Inputs are set after a falling edge, the outputs have followed them :func:`settled` later, and the
next falling edge ends the cycle. The rising edge between samples the values that were checked.
"""

import os
from collections.abc import Iterable

import cocotb
from amaranth.lib.wiring import Component
from cocotb.clock import Clock
from cocotb.task import Task
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from rtl.export.back_end import ports_of

__all__ = ["SCALE", "clock_stops", "inputs_of", "next_cycle", "reset", "scaled", "settled", "skip"]

# Set by `tb.runner`: length of the run as a multiple of the shortest useful run.
SCALE = "T3_BENCH_SCALE"
_PERIOD_NS = 2
_HELD_CYCLES = 100
_WALK_CYCLES = 300  # more than any bench's block needs to clear its tables

_clocks: list[Task] = []  # the running clock, if it has not ended with its test
_holds: list[Task] = []  # the running task of :func:`_over_falling_edges`


def scaled(cycles: int) -> int:
    """Number of cycles of random traffic in this run, given the number of the shortest run."""
    return cycles * int(os.environ.get(SCALE, "1"))


def inputs_of(component: Component) -> list[str]:
    """Names of a component's inputs in its Verilog, without the clock and the reset."""
    return [name for name, (_, kind) in ports_of(component).items() if kind.value == "input"]


async def reset(dut, inputs: Iterable[str], *, hold: bool = True) -> None:
    """Start the clock, set the inputs to 0, reset, and stop at the start of the first cycle.

    A test may call this function repeatedly. With ``hold``, the reset is also high across the
    falling edges of further cycles, at which no register may depend on it; pass False if logic
    outside the block reads the reset.
    """
    if all(clock.done() for clock in _clocks):
        _clocks[:] = [Clock(dut.clk, _PERIOD_NS, "ns").start()]
    for task in _holds:
        task.cancel()
    for name in inputs:
        getattr(dut, name).value = 0
    dut.rst.value = 1
    for _ in range(2):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    if hold:
        _holds[:] = [cocotb.start_soon(_over_falling_edges(dut))]


async def _over_falling_edges(dut) -> None:
    """Hold the reset at times at which no register may depend on it."""
    for _ in range(_HELD_CYCLES):
        await RisingEdge(dut.clk)
        dut.rst.value = 1
        await FallingEdge(dut.clk)
        dut.rst.value = 0


async def settled() -> None:
    """Wait until the outputs have followed the inputs of this cycle."""
    await Timer(_PERIOD_NS * 250, "ps")


async def next_cycle(dut) -> None:
    await FallingEdge(dut.clk)


async def skip(dut, cycles: int) -> None:
    """End this cycle and ``cycles - 1`` further cycles, without sampling them."""
    await Timer(_PERIOD_NS * (1000 * (cycles - 1) + 250), "ps")
    await FallingEdge(dut.clk)


async def clock_stops(dut, inputs: Iterable[str]) -> None:
    """Check that the clock of a block stops once its tables are clear, if nothing arrives.

    A clock enable that is high too often has no other effect that a bench could observe.
    """
    await reset(dut, inputs)
    await skip(dut, _WALK_CYCLES)
    for _ in range(_WALK_CYCLES):
        await settled()
        assert not dut.clock_enable.value
        await next_cycle(dut)
