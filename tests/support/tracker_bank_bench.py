"""Bench of a tracker bank beside the golden model."""

from collections import deque
from dataclasses import dataclass, field, replace

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import Completion, ErrorReport
from rtl.parameters import T3Parameters
from rtl.tracker.bank import TrackerBank
from tb.golden import error_report
from tb.payload import Fields
from tb.tracker_bank.model import Model
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

__all__ = ["GEOMETRIES", "SMALL", "BankTrace", "simulate"]

SMALL = T3Parameters(contexts=1, sets=4, ways=2, tile_atom_bits=2, share_bits=2)
GEOMETRIES = {
    "one-entry": replace(SMALL, sets=1, ways=1),
    "banks-1": SMALL,
    "banks-2": replace(SMALL, banks=2),
    "banks-4": replace(SMALL, ways=3, banks=4),
    "reference": T3Parameters(contexts=1),
}


@dataclass
class BankTrace:
    accepted: list = field(default_factory=list)  # cycles
    completions: list = field(default_factory=list)  # (cycle visible, completion)
    errors: list = field(default_factory=list)  # (cycle, code, dispatch index, wavefront)
    clearing: list = field(default_factory=list)  # cycles


def simulate(p, events, *, offer=None, take=None, clear=(), cycles=None):
    """Send events in order and check every port in every cycle against the golden model.

    An event follows one cycle after ``space``. ``offer(cycle)`` and ``take(cycle)`` are true in the
    cycles in which the bench offers an event and takes a completion; ``clear`` holds the cycles of
    the strobe. The simulation ends when all events are done, or after ``cycles``.
    """
    dut, model, seen = device(TrackerBank, p), Model(p), BankTrace()
    completion, report = Fields(Completion(p)), Fields(ErrorReport(p))

    def goes_on(cycle):
        if cycles is not None:
            return cycle < cycles
        return waiting or model.completion or model.bank["in_pipeline"] or model.clearing

    def compare_ports(ctx, cycle, taken):
        assert ctx.get(dut.clearing) == model.clearing, cycle
        assert ctx.get(dut.space) == model.space, cycle
        assert ctx.get(dut.empty) == model.empty, cycle
        expected = model.completion
        assert ctx.get(dut.o.valid) == (expected is not None), cycle
        if model.clearing:
            seen.clearing.append(cycle)
        if expected is not None:
            found = completion.unpack(ctx.get(dut.o.p).as_bits())
            assert found == expected, cycle
            if taken:
                seen.completions.append((cycle, tuple(found[1:])))

    def compare_error(ctx, cycle, error):
        assert ctx.get(dut.error.valid) == (error != 0), cycle
        if error:
            found = report.unpack(ctx.get(dut.error.report).as_bits())
            assert found == error_report(error), cycle
            code, _, *tile = found[:4]
            seen.errors.append((cycle, ErrorCode(code), *tile))

    async def bench(ctx):
        ctx.set(dut.ways[0], (1 << p.ways) - 1)
        coming, cycle = None, 0
        while goes_on(cycle):
            taken = take is None or take(cycle)
            ctx.set(dut.i.valid, coming is not None)
            if coming:
                seen.accepted.append(cycle)
                ctx.set(dut.i.p, coming)
            ctx.set(dut.o.ready, taken)
            ctx.set(dut.clear, cycle in clear)
            compare_ports(ctx, cycle, taken)
            chosen = waiting and model.space and (offer is None or offer(cycle + 1))
            coming = waiting.popleft() if chosen else None
            compare_error(ctx, cycle, model.step(coming, taken, cycle in clear))
            await ctx.tick()
            cycle += 1

    waiting = deque(events)
    simulate_device(dut, bench)
    return seen
