"""Updates that the reduce unit performs long after the memory has issued them."""

from collections import deque
from dataclasses import replace

import pytest

from rtl.interface.encodings import Access
from tests.support.context_traffic import KERNELS, MOST_CYCLES, TWO, Traffic, finish
from tests.support.top_bench import (
    PROGRAM,
    WORKGROUPS,
    Memory,
    abort,
    admit,
    announce,
    launch,
    program,
    simulate,
    status,
)

DATA = replace(TWO, with_data=True)
CONTEXT = 1
FIRST = replace(KERNELS[CONTEXT], generation=15)
SECOND = replace(FIRST, region=6144, offset=512, first=3, generation=0)


class SlowMemory(Memory):
    """Memory that sends an update to the reduce unit ``delay`` cycles after its acknowledgement."""

    delay = 0

    def __init__(self, port):
        super().__init__(port)
        self.due, self.epochs = deque(), []

    def drive(self, ctx, cycle):
        """See :meth:`Memory.drive`."""
        super().drive(ctx, cycle)
        ack = self.port.issue_acks
        if ctx.get(ack.valid) and ctx.get(ack.ready) and ctx.get(ack.p.access) == Access.UPDATE:
            self.due.append((cycle + self.delay, ctx.get(ack.p.owner)))
        ready = bool(self.due) and self.due[0][0] <= cycle
        ctx.set(self.port.nmc_in.valid, ready)
        if ready:
            ctx.set(self.port.nmc_in.p.owner, self.due.popleft()[1])
        if ctx.get(self.port.nmc_out.valid):
            self.epochs.append(ctx.get(self.port.nmc_out.p.epoch))


def slow_traffic(delay):
    traffic = Traffic(6)
    traffic.memory = type("Slow", (SlowMemory,), {"delay": delay})
    return traffic


def show(ctx, port, kernel):
    """Drive the dispatcher and the peers: the kernel has ended, and all is admitted."""
    ctx.set(port.kernel_generation, kernel.generation)
    ctx.set(port.finished, WORKGROUPS)
    announce(ctx, port, kernel.generation)
    admit(ctx, port, 100)


@pytest.mark.parametrize("delay", [0, 60])
def test_the_next_launch_waits_for_the_reduce_unit(delay):
    """Each update is reduced with the epoch of its own launch, however late the memory sends it."""
    traffic = slow_traffic(delay)
    updates = sum(n for access, n in FIRST.accesses().items() if access[0] == Access.UPDATE)

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        await launch(ctx, dut, FIRST.registers, CONTEXT)
        show(ctx, port, FIRST)
        await program(ctx, dut, [*PROGRAM, *SECOND.registers, ("CONTROL", {"launch": 1})], CONTEXT)
        traffic.add(FIRST)
        for _ in range(MOST_CYCLES):
            await ctx.tick()
            if ctx.get(port.generation) == SECOND.generation:
                break
        show(ctx, port, SECOND)
        traffic.add(SECOND)
        await finish(ctx, dut, SECOND)
        await ctx.tick().repeat(delay + 20)
        epochs = [epoch for memory in traffic.memories for epoch in memory.epochs]
        assert sorted(epochs) == [1] * updates + [2] * updates

    simulate(bench, DATA, background=traffic)


@pytest.mark.parametrize("delay", [100])
def test_an_abort_waits_for_the_reduce_unit(delay):
    """An aborted launch's updates are reduced before the abort ends."""
    traffic = slow_traffic(delay)

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        await launch(ctx, dut, FIRST.registers, CONTEXT)
        show(ctx, port, FIRST)
        traffic.add(FIRST)
        await ctx.tick().repeat(60)
        traffic.drop(FIRST)
        await abort(ctx, dut, CONTEXT)
        assert not any(memory.due for memory in traffic.memories)
        assert (await status(ctx, dut, "STATUS", CONTEXT))["idle"]

    simulate(bench, DATA, background=traffic)
