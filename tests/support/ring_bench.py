"""Tops with their link endpoints in a ring, and faulty wires between them."""

import random
from collections import Counter, deque
from dataclasses import dataclass, replace
from functools import cache

from amaranth.hdl import Module, ResetInserter, Signal

from driver.python import DOWNSTREAM, Peer
from rtl.interface.encodings import Access, Action, Origin, PacketKind
from rtl.interface.layouts import LinkPacket
from rtl.interface.timebase import TICK_CYCLES
from rtl.top import T3
from tb.link_endpoint.dut import LINK
from tb.link_endpoint.wire import CLEAN, Wire
from tests.support.context_traffic import TWO
from tests.support.simulation import simulate as simulate_design
from tests.support.top_bench import (
    PROGRAM,
    RUN,
    WAVE,
    Memory,
    atoms_of,
    channel_number,
    program,
    settle,
    store,
)

__all__ = ["CHANNELS", "RING", "Gather", "Gpu", "Ring", "Work", "simulate"]

# As little as a launch needs, for the simulator's sake.
RING = replace(TWO, peers=2, regions=1, ranges=3, commands=1, dma_walkers=1, banks=1)
CHANNELS = RING.channels
MOST = 1 << RING.credit_limit_bits  # above every dispatch index
# With an all-gather behind it.
GATHER = replace(RING, ranges=5, commands=2)
_TRANSFER = {
    name: fields for name, fields in PROGRAM if name.startswith("COMMAND_") and "WINDOW" not in name
}


@dataclass(frozen=True, kw_only=True)
class Work:
    """Reduce-scatter of a context: ``chunk`` workgroups for each GPU, at the same addresses on all.

    GPU *g* dispatches first the chunk that it sends, and keeps the last one.
    """

    number: int
    generation: int
    gpus: int = 2
    chunk: int = 2

    @property
    def region(self):
        return 1024 * (1 + self.number)

    @property
    def workgroups(self):
        return self.gpus * self.chunk

    def order(self, gpu):
        """Return the tile of the output at each dispatch index."""
        first = -gpu * self.chunk
        return [(first + index) % self.workgroups for index in range(self.workgroups)]

    def peers(self, gpu):
        """Return the peers of a GPU: the one downstream, and the one upstream."""
        down, up = (gpu + 1) % self.gpus, (gpu - 1) % self.gpus
        space = 3 + self.number
        return [
            Peer(gpu=down, rank=down, space=space, sends_stores=True, sends_updates=True),
            Peer(gpu=up, rank=up, space=space, takes_stores=True, takes_updates=True),
        ]

    @property
    def slots_end(self):
        """End of the tracked slots."""
        return self.workgroups

    @property
    def to_send(self):
        """Workgroups whose tiles leave."""
        return self.workgroups - self.chunk

    @property
    def ranges(self):
        """Return the ranges: first slot and end, action, shares and command."""
        chunk, end = self.chunk, self.workgroups
        return [
            (0, chunk, Action.REMOTE, 0, 0),
            (chunk, end - chunk, Action.DMA, 2, 0),
            (end - chunk, end, Action.OWN, 2, 0),
        ]

    def receivers(self, index):
        """Return who gets what leaves of a range, and the difference of the slots."""
        return {"peers": 1 << DOWNSTREAM, "slot_offset": self.chunk}

    @property
    def tracked_first(self):
        """First tracked slot."""
        return self.chunk

    @property
    def kinds(self):
        """Return the kinds of packets of the commands."""
        return [PacketKind.UPDATE]

    @property
    def registers(self):
        """Return the registers of the launch."""
        chunk, end = self.chunk, self.workgroups
        tables = []
        for index, (first, after, action, shares, command) in enumerate(self.ranges):
            if first < after:
                values = {"region": 0, "action": action.value, "command": command}
                values |= {"shares": shares}
                tables += [
                    ("RANGE_PEERS", self.receivers(index)),
                    ("RANGE_DISPATCH_INDICES", {"first": first, "last": after - 1}),
                    ("RANGE_ACTION", values),
                    ("RANGE_COMMIT", {"index": index, "enable": 1}),
                ]
        transfers = []
        for index, kind in enumerate(self.kinds):
            transfer = _TRANSFER | {"COMMAND_OFFSET_LO": {"bytes": 0}}
            marks = {"marks": 1, "kind": kind.value}
            transfer["COMMAND_TRANSFER"] = transfer["COMMAND_TRANSFER"] | marks
            transfer["COMMAND_COMMIT"] = {"index": index}
            transfers += transfer.items()
        return [
            ("ADDRESS_SPACE", {"local": 3 + self.number, "enable": 1}),
            ("WAYS", {"mask": 0b11 << 2 * self.number}),
            ("TRACKING", {"generation": self.generation}),
            ("WORKGROUPS", {"count": end}),
            ("TRACKED_FIRST", {"dispatch_index": self.tracked_first}),
            ("TRACKED_END", {"dispatch_index": self.slots_end}),
            ("TO_SEND", {"count": self.to_send}),
            ("CREDIT_WINDOW", {"workgroups": chunk}),
            ("COMMAND_WINDOW", {"workgroups": 8}),
            ("REGION_BASE_LO", {"bytes": self.region * 32}),
            ("REGION_LIMIT_LO", {"bytes": (self.region + 256) * 32}),
            ("REGION_COMMIT", {"index": 0, "enable": 1}),
            *transfers,
            *tables,
        ]

    def stores(self, gpu):
        """Yield the stores with their dispatch indices, in order, with markers behind each tile."""
        mine = {"context": 3 + self.number, "generation": self.generation}
        for index, number in enumerate(self.order(gpu)):
            tile = atoms_of(number, self.region)
            for atom, wavefront in tile:
                yield index, store(atom, index, wavefront) | mine
            for wavefront in range(RUN // WAVE):
                atom = tile[wavefront * WAVE][0]
                yield index, store(atom, index, wavefront, end=True) | mine

    def accesses(self, gpu):
        """Return the accesses that a GPU's memories see.

        A tracked atom gets an update of each kind, and a read if it is sent on.
        """
        expected = Counter()
        for index, tile in enumerate(self.order(gpu)):
            for atom, _ in atoms_of(tile, self.region):
                if index >= self.chunk:
                    expected[Access.UPDATE, Origin.COMPUTE, atom] += 1
                    expected[Access.UPDATE, Origin.COMMUNICATION, atom] += 1
                if self.chunk <= index < self.workgroups - self.chunk:
                    expected[Access.READ, Origin.COMMUNICATION, atom] += 1
        return expected


@dataclass(frozen=True, kw_only=True)
class Gather(Work):
    """Reduce-scatter, and an all-gather behind it in the same launch.

    A complete tile of the own chunk leaves as tracked stores. So many slots behind the last
    workgroup are those of the other GPUs' chunks, which arrive one after the other; all but the
    last are sent on.
    """

    @property
    def slots_end(self):
        return self.workgroups + (self.gpus - 1) * self.chunk

    @property
    def to_send(self):
        return self.slots_end - self.chunk

    @property
    def kinds(self):
        return [PacketKind.UPDATE, PacketKind.STORE]

    @property
    def ranges(self):
        chunk, end, last = self.chunk, self.workgroups, self.slots_end - self.chunk
        return [
            *super().ranges[:2],
            (end - chunk, end, Action.DMA, 2, 1),
            (end, last, Action.DMA, 1, 1),
            (last, last + chunk, Action.OWN, 1, 1),
        ]

    def accesses(self, gpu):
        """Return the accesses that a GPU's memories see: also those of the all-gather."""
        expected = super().accesses(gpu)
        own = self.order(gpu)[-self.chunk :]
        last = self.order((gpu + 1) % self.gpus)[-self.chunk :]  # the GPU downstream sent it first
        for tile in range(self.workgroups):
            for atom, _ in atoms_of(tile, self.region):
                if tile not in own:
                    expected[Access.PLACE, Origin.COMMUNICATION, atom] += 1
                if tile not in last:
                    expected[Access.READ, Origin.COMMUNICATION, atom] += 1
        return expected


class Gpu:
    """Top with its memories, and the stores of its kernels, which heed the dispatch limit, except
    for those of contexts in ``careless``."""

    def __init__(self, dut, number, rng):
        self.careless = set()
        self.dut, self.number = dut, number
        self.memories = [Memory(port) for port in dut.channel]
        self._rng = rng
        self._waiting = [[deque() for _ in dut.context] for _ in dut.channel]
        self._offered = [None for _ in dut.channel]
        self._works = [None for _ in dut.context]

    def add(self, work):
        """Add the kernel of a launch that has begun."""
        self._works[work.number] = work
        for index, item in work.stores(self.number):
            self._waiting[channel_number(item["atom"])][work.number].append((index, item))

    def drop(self, context):
        """Remove the context's kernel: it sends nothing more."""
        self._works[context] = None
        for queues in self._waiting:
            queues[context].clear()

    def seen(self, work):
        """Return the accesses to the buffer of a context."""
        return Counter(
            {
                access: count
                for memory in self.memories
                for access, count in memory.seen.items()
                if access[2] in range(work.region, work.region + 256)
            }
        )

    def drive(self, ctx, cycle):
        ctx.set(self.dut.tick, cycle % TICK_CYCLES == 0)
        for memory in self.memories:
            memory.drive(ctx, cycle)
        limits = [
            MOST if context in self.careless else ctx.get(port.dispatch_limit)
            for context, port in enumerate(self.dut.context)
        ]
        for number in range(CHANNELS):
            self._store(ctx, number, limits)
        for number, (port, work) in enumerate(zip(self.dut.context, self._works, strict=True)):
            ended = work and not any(queues[number] for queues in self._waiting)
            ctx.set(port.finished, work.workgroups if ended and not any(self._offered) else 0)
            ctx.set(port.kernel_generation, work.generation if work else 0)

    def _store(self, ctx, number, limits):
        port = self.dut.channel[number]
        ready = [
            queue
            for queue, limit in zip(self._waiting[number], limits, strict=True)
            if queue and queue[0][0] < limit
        ]
        if self._offered[number] is None and ready and ctx.get(port.store_space) == 3:
            self._offered[number] = self._rng.choice(ready).popleft()[1]
        item = self._offered[number]
        ctx.set(port.stores.valid, item is not None)
        if item is not None:
            ctx.set(port.stores.p, item)
            if ctx.get(port.stores.ready):
                self._offered[number] = None


class Ring:
    """GPUs in a ring.

    For each link, ``wires[gpu]`` has the wire to the downstream GPU, and the wire back.
    """

    def __init__(self, duts, resets, seed, faults, link, p):
        print("seed", seed)
        rng = random.Random(seed)
        self.gpus = [Gpu(dut, number, rng) for number, dut in enumerate(duts)]
        self.wires = [
            [[Wire(rng, faults, LinkPacket(p), link) for _ in range(2)] for _ in duts[0].link]
            for _ in duts
        ]
        self._resets, self._rng = resets, rng

    @property
    def all_wires(self):
        return [wire for gpu in self.wires for link in gpu for wire in link]

    async def reset(self, ctx, number):
        """Reset one GPU for a cycle."""
        ctx.set(self._resets[number], 1)
        await ctx.tick()
        ctx.set(self._resets[number], 0)

    async def launch(self, ctx, number, *works, changes=()):
        """Launch the works on a GPU; each kernel begins when its launch has begun."""
        gpu = self.gpus[number]
        for work in works:
            peers = work.peers(number)
            await settle(ctx, gpu.dut, work.number, rank=number, peers=peers)
            registers = [*work.registers, *changes, ("CONTROL", {"launch": 1})]
            await program(ctx, gpu.dut, registers, work.number)
            gpu.add(work)

    async def finish(self, ctx, *works, most_cycles=3000):
        """Run until the launches are over on all GPUs."""
        ports = [gpu.dut.context[work.number] for gpu in self.gpus for work in works]
        for _ in range(most_cycles):
            await ctx.tick()
            if all(ctx.get(port.done) and ctx.get(port.idle) for port in ports):
                return
        raise AssertionError("A launch does not end")

    def check(self, *works):
        """Check that each GPU's memories have seen all accesses of these launches, each once."""
        for gpu in self.gpus:
            for number in {work.number for work in works}:
                mine = [work for work in works if work.number == number]
                expected = sum((work.accesses(gpu.number) for work in mine), Counter())
                assert gpu.seen(mine[0]) == expected, (gpu.number, number)

    async def run(self, ctx):
        """Drive memories, kernels and wires cycle by cycle."""
        cycle = 0
        while True:
            for gpu in self.gpus:
                gpu.drive(ctx, cycle)
            for number, gpu in enumerate(self.gpus):
                down = self.gpus[(number + 1) % len(self.gpus)]
                for link, wires in enumerate(self.wires[number]):
                    ends = gpu.dut.link[link].downstream, down.dut.link[link].upstream
                    self._carry(ctx, ends[0].send, wires[0], ends[1].receive, cycle)
                    self._carry(ctx, ends[1].send, wires[1], ends[0].receive, cycle)
            await ctx.tick()
            cycle += 1

    def _carry(self, ctx, send, wire, receive, cycle):
        arrives = wire.take(cycle)
        ctx.set(receive.valid, arrives is not None)
        if arrives is not None:
            ctx.set(receive.p.as_value(), arrives)
        takes = self._rng.random() >= wire.faults.busy
        ctx.set(send.ready, takes)
        if takes and ctx.get(send.valid):
            wire.put(ctx.get(send.p.as_value()), cycle)


@cache
def _design(gpus, link, p):
    """Return a design of ``gpus`` tops, the tops, and their resets."""
    duts, resets = [T3(p, link) for _ in range(gpus)], []
    m = Module()
    for dut in duts:
        resets.append(Signal())
        m.submodules += ResetInserter(resets[-1])(dut)
    return m, duts, resets


def simulate(bench, seed, *, gpus=2, faults=CLEAN, link=LINK, gathers=False):
    """Run ``bench(ctx, ring)`` with the ring's wires, memories and kernels beside it."""
    p = GATHER if gathers else RING
    design, duts, resets = _design(gpus, link, p)
    ring = Ring(duts, resets, seed, faults, link, p)

    async def run(ctx):
        await bench(ctx, ring)

    simulate_design(design, run, background=ring.run)
