"""Kernels on the small top with two contexts, and their traffic at its ports."""

import random
from collections import Counter, deque
from dataclasses import dataclass, replace

import pytest

from rtl.interface.encodings import Access, Datatype, Operation, Origin, PacketKind
from tests.support.top_bench import (
    PROGRAM,
    RUN,
    SHIFT,
    WAVE,
    WORKGROUPS,
    Memory,
    P,
    atoms_of,
    channel_number,
    end_packet,
    launch,
    packet,
    store,
)

__all__ = ["EITHER", "KERNELS", "MOST_CYCLES", "TWO", "Kernel", "Traffic", "begin", "finish"]

TWO = replace(P, contexts=2, remote_depth=9)
MOST_CYCLES = 600
EITHER = [0, pytest.param(1, marks=pytest.mark.verify)]
"""Number of either context: only `make verify` runs the tests of the second context."""


@dataclass(frozen=True)
class Kernel:
    """Kernel of a context: the launch of ``top_bench``, with buffers and an order of its own.

    Its dispatch indices begin at the tile ``first`` of the output.
    """

    number: int
    local: int
    remote: int
    region: int
    offset: int
    first: int
    ways: int
    op: Operation
    dtype: Datatype
    generation: int = 0

    @property
    def again(self):
        """Kernel of the next launch, with the next generation."""
        return replace(self, generation=(self.generation + 1) % 16)

    @property
    def order(self):
        """Tile of the output at each dispatch index."""
        return [(self.first + dispatch_index) % WORKGROUPS for dispatch_index in range(WORKGROUPS)]

    def tile(self, dispatch_index):
        """Return the atoms and wavefronts of a workgroup's tile."""
        return atoms_of(self.order[dispatch_index], self.region)

    @property
    def registers(self):
        """Registers that differ from ``PROGRAM``."""
        transfer = dict(PROGRAM)["COMMAND_TRANSFER"]
        return [
            ("ADDRESS_SPACE", {"local": self.local, "remote": self.remote, "enable": 1}),
            ("WAYS", {"mask": self.ways}),
            ("TRACKING", {"generation": self.generation}),
            ("REGION_BASE_LO", {"bytes": self.region * 32}),
            ("REGION_LIMIT_LO", {"bytes": (self.region + 256) * 32}),
            ("REGION_COMMIT", {"index": 0, "enable": 1}),
            ("COMMAND_TRANSFER", transfer | {"op": self.op.value, "dtype": self.dtype.value}),
            ("COMMAND_OFFSET_LO", {"bytes": self.offset * 32}),
            ("COMMAND_COMMIT", {"index": 0}),
        ]

    def store(self, *args, **fields):
        return store(*args, **fields) | {"context": self.local, "generation": self.generation}

    def packet(self, *args):
        mine = {"context": self.local, "generation": self.generation}
        return packet(*args) | mine | {"op": self.op, "dtype": self.dtype}

    def end_packet(self, *args):
        mine = {"context": self.local, "generation": self.generation}
        return end_packet(*args) | mine

    def stores(self):
        """Yield the stores in dispatch order, each workgroup's markers behind its tile."""
        for dispatch_index in range(WORKGROUPS):
            tile = self.tile(dispatch_index)
            for atom, wavefront in tile:
                yield self.store(atom, dispatch_index, wavefront)
            for wavefront in range(RUN // WAVE):
                yield self.store(tile[wavefront * WAVE][0], dispatch_index, wavefront, end=True)

    def packets(self):
        """Yield the neighbour's packets for all workgroups but the first, with END packets behind
        each tile."""
        for slot in range(1, WORKGROUPS):
            for atom, wavefront in self.tile(slot):
                yield self.packet(atom, slot, wavefront)
            for wavefront in range(RUN // WAVE):
                yield self.end_packet(slot, wavefront)

    def accesses(self):
        """Return the accesses that the memories see.

        The first workgroup leaves, the next two leave when complete, and the last stays.
        """
        expected = Counter()
        for dispatch_index in range(WORKGROUPS):
            for atom, _ in self.tile(dispatch_index):
                if dispatch_index:
                    expected[Access.UPDATE, Origin.COMPUTE, atom] += 1
                    expected[Access.UPDATE, Origin.COMMUNICATION, atom] += 1
                if dispatch_index in (1, 2):
                    expected[Access.READ, Origin.COMMUNICATION, atom] += 1
        return expected

    def sends(self):
        """Return the packets to the neighbour."""
        kind, op, dtype = PacketKind.UPDATE, self.op, self.dtype
        return Counter(
            (self.number, kind, self.remote, atom + self.offset, index + SHIFT, wave, op, dtype)
            for index in range(3)
            for atom, wave in self.tile(index)
        )


KERNELS = [
    Kernel(0, 3, 5, 1024, 4096, 1, 0b0101, Operation.MAX, Datatype.FP32),
    Kernel(1, 9, 3, 2048, 8192, 2, 0b1010, Operation.SUM, Datatype.BF16),
]


class Traffic:
    """Stores and packets of the added kernels, mixed at random, and the accesses caused by them."""

    memory = Memory

    def __init__(self, seed):
        print(f"seed {seed}")
        self._rng = random.Random(seed)
        # By channel and stream: the payload that a port offers, and the queue of each kernel.
        self._offered = {}
        self._waiting = {}
        self.sent = [[] for _ in range(TWO.channels)]
        self.generations = []  # generations of the packets that left
        self.memories = []
        self.link_takes = True
        self.cycle = 0

    def add(self, kernel):
        for stream, items in (("stores", kernel.stores()), ("link_in", kernel.packets())):
            for item in items:
                port = channel_number(item["atom"]), stream
                self._waiting.setdefault(port, {}).setdefault(kernel, deque()).append(item)

    def drop(self, kernel):
        """Remove a kernel that has ended: it sends nothing more."""
        for queues in self._waiting.values():
            queues.pop(kernel, None)

    def accesses(self, kernel):
        """Return the accesses to the kernel's buffer."""
        return Counter(
            {
                access: count
                for memory in self.memories
                for access, count in memory.seen.items()
                if access[2] in range(kernel.region, kernel.region + 256)
            }
        )

    def sends(self, kernel):
        return Counter(one for channel in self.sent for one in channel if one[0] == kernel.number)

    async def __call__(self, ctx, dut):
        self.memories = [self.memory(port) for port in dut.channel]
        await self.run(ctx, dut)

    async def run(self, ctx, dut):
        """Drive the memories and the traffic cycle by cycle."""
        while True:
            for index, port in enumerate(dut.channel):
                self.memories[index].drive(ctx, self.cycle)
                for name in ("stores", "link_in"):
                    self._offer(ctx, getattr(port, name), (index, name))
                self._take(ctx, port, self.sent[index])
            await ctx.tick()
            self.cycle += 1

    def _offer(self, ctx, stream, port):
        queues = [queue for queue in self._waiting.get(port, {}).values() if queue]
        if port not in self._offered and queues:
            self._offered[port] = self._rng.choice(queues).popleft()
        ctx.set(stream.valid, port in self._offered)
        if port in self._offered:
            ctx.set(stream.p, self._offered[port])
            if ctx.get(stream.ready):
                del self._offered[port]

    def _take(self, ctx, port, sent):
        ctx.set(port.link_out.ready, self.link_takes)
        if self.link_takes and ctx.get(port.link_out.valid):
            p = ctx.get(port.link_out.p)
            where = p.kind, p.context, p.atom, p.slot, p.wavefront, p.op, p.dtype
            sent.append((ctx.get(port.link_owner), *where))
            self.generations.append(p.generation)


async def begin(ctx, dut, traffic, *kernels):
    for kernel in kernels:
        await launch(ctx, dut, kernel.registers, kernel.number)
        ctx.set(dut.context[kernel.number].generation_in, kernel.generation)
        ctx.set(dut.context[kernel.number].credit_limit_in, 100)
    for kernel in kernels:
        traffic.add(kernel)


async def finish(ctx, dut, kernel):
    """Run until the launch is over; return the number of busy cycles."""
    port, busy = dut.context[kernel.number], 0
    for _ in range(MOST_CYCLES):
        await ctx.tick()
        busy += not ctx.get(port.idle)
        if busy and ctx.get(port.done) and ctx.get(port.idle):
            return busy
    raise AssertionError(f"context {kernel.number} does not end")
