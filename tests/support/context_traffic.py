"""Kernels on the small top with two contexts, and their traffic at its ports."""

import random
from collections import Counter, deque
from dataclasses import dataclass, replace

import pytest

from driver.python import DOWNSTREAM, UPSTREAM
from rtl.interface.encodings import Access, Action, Datatype, Operation, Origin, PacketKind
from tests.support.top_bench import (
    BOTH_WAYS,
    PROGRAM,
    RUN,
    SHIFT,
    WAVE,
    WORKGROUPS,
    Memory,
    P,
    admit,
    announce,
    atoms_of,
    channel_number,
    end_packet,
    launch,
    packet,
    peers_of,
    rank_of,
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

    Its dispatch indices begin at the tile ``first`` of the output. Its stores leave to the
    downstream GPU, and its complete tiles to each of ``receivers``.
    """

    number: int
    local: int
    region: int
    offset: int
    first: int
    ways: int
    op: Operation
    dtype: Datatype
    generation: int = 0
    receivers: tuple[int, ...] = (DOWNSTREAM, BOTH_WAYS)

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
            ("ADDRESS_SPACE", {"local": self.local, "enable": 1}),
            ("WAYS", {"mask": self.ways}),
            ("TRACKING", {"generation": self.generation}),
            ("REGION_BASE_LO", {"bytes": self.region * 32}),
            ("REGION_LIMIT_LO", {"bytes": (self.region + 256) * 32}),
            ("REGION_COMMIT", {"index": 0, "enable": 1}),
            ("COMMAND_TRANSFER", transfer | {"op": self.op.value, "dtype": self.dtype.value}),
            ("COMMAND_OFFSET_LO", {"bytes": self.offset * 32}),
            ("COMMAND_COMMIT", {"index": 0}),
            *self._tiles_leave(),
        ]

    def _tiles_leave(self):
        """Return the registers of the range whose tiles leave when complete."""
        action = {"region": 0, "action": Action.DMA.value, "command": 0, "shares": 2}
        mask = sum(1 << peer for peer in self.receivers)
        return [
            ("RANGE_DISPATCH_INDICES", {"first": 1, "last": 2}),
            ("RANGE_ACTION", action),
            ("RANGE_PEERS", {"peers": mask, "slot_offset": SHIFT}),
            ("RANGE_COMMIT", {"index": 1, "enable": 1}),
        ]

    def store(self, *args, **fields):
        return store(*args, **fields) | {"context": self.local, "generation": self.generation}

    def packet(self, *args):
        return packet(*args) | self._mine() | {"op": self.op, "dtype": self.dtype}

    def end_packet(self, *args):
        return end_packet(*args) | self._mine()

    def _mine(self):
        """Return fields of a packet from the upstream GPU."""
        source = peers_of(self.number)[UPSTREAM].rank
        return {"context": self.local, "source": source, "generation": self.generation}

    def stores(self):
        """Yield the stores in dispatch order, each workgroup's markers behind its tile."""
        for dispatch_index in range(WORKGROUPS):
            tile = self.tile(dispatch_index)
            for atom, wavefront in tile:
                yield self.store(atom, dispatch_index, wavefront)
            for wavefront in range(RUN // WAVE):
                yield self.store(tile[wavefront * WAVE][0], dispatch_index, wavefront, end=True)

    def packets(self):
        """Yield the packets of both neighbours for all workgroups but the first, with END packets
        behind each tile."""
        for slot in range(1, WORKGROUPS):
            sender = (UPSTREAM, BOTH_WAYS)[slot % 2]
            source = {"source": peers_of(self.number)[sender].rank}
            for atom, wavefront in self.tile(slot):
                yield self.packet(atom, slot, wavefront) | source
            for wavefront in range(RUN // WAVE):
                yield self.end_packet(slot, wavefront) | source

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
        """Return the packets to the peers."""
        kind, op, dtype = PacketKind.UPDATE, self.op, self.dtype
        peers, rank = peers_of(self.number), rank_of(self.number)
        expected = Counter()
        for index in range(3):
            for receiver in self.receivers if index else (DOWNSTREAM,):
                peer = peers[receiver]
                ends = peer.gpu, rank
                expected.update(
                    (self.number, *ends, kind, peer.space, atom + self.offset, index + SHIFT)
                    + (wave, op, dtype)
                    for atom, wave in self.tile(index)
                )
        return expected


KERNELS = [
    Kernel(0, 3, 1024, 4096, 1, 0b0101, Operation.MAX, Datatype.FP32),
    Kernel(1, 9, 2048, 8192, 2, 0b1010, Operation.SUM, Datatype.BF16),
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
            where = p.destination, p.source, p.kind, p.context, p.atom, p.slot
            sent.append((ctx.get(port.link_owner), *where, p.wavefront, p.op, p.dtype))
            self.generations.append(p.generation)


async def begin(ctx, dut, traffic, *kernels):
    for kernel in kernels:
        await launch(ctx, dut, kernel.registers, kernel.number)
        announce(ctx, dut.context[kernel.number], kernel.generation)
        admit(ctx, dut.context[kernel.number], 100)
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
