"""Fully connected tops, each with its fabric and ports, and faulty wires between them."""

import random
from collections import Counter
from dataclasses import dataclass
from functools import cache

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import wiring

from driver.python import Peer
from rtl.interface.encodings import Access, Action, Origin
from rtl.interface.layouts import LinkPacket
from rtl.interface.signatures import ChannelSignature, ContextSignature
from rtl.link.mesh import MeshLinks
from rtl.link.ring import OF_CHANNEL, OF_CONTEXT
from rtl.top import T3
from tb.link_endpoint.dut import LINK
from tb.link_endpoint.wire import CLEAN, Wire
from tests.support.ring_bench import RING, Gpu, Work
from tests.support.simulation import simulate as simulate_design
from tests.support.top_bench import atoms_of, program, settle

__all__ = ["GPUS", "Direct", "Mesh", "simulate"]

GPUS = 3
NO_RANK = 99


def gpu_of(gpu, port):
    """Return the GPU at the other end of a port."""
    return (gpu + 1 + port) % GPUS


def port_to(gpu, other):
    """Return the port of a GPU to another GPU."""
    return (other - gpu - 1) % GPUS


@dataclass(frozen=True, kw_only=True)
class Direct(Work):
    """Direct reduce-scatter among some GPUs: each sends every other one its chunk, straight.

    A tile of the own chunk is complete with one share of each GPU. ``forged`` are numbers that the
    tables of peers have in place of the GPUs'.
    """

    members: tuple = tuple(range(GPUS))
    forged: tuple = ()

    @property
    def workgroups(self):
        return len(self.members) * self.chunk

    def others(self, gpu):
        """Return the other members, in the order in which their chunks are produced."""
        rank = self.members.index(gpu)
        return self.members[rank + 1 :] + self.members[:rank]

    def order(self, gpu):
        owners = [*self.others(gpu), gpu]
        return [
            self.members.index(owner) * self.chunk + index
            for owner in owners
            for index in range(self.chunk)
        ]

    def peers(self, gpu):
        """Return the peer of each port; GPUs outside the group have no permission."""
        allowed = ("sends_stores", "sends_updates", "takes_stores", "takes_updates")
        peers = []
        for port in range(GPUS - 1):
            other = gpu_of(gpu, port)
            joins = other in self.members
            number = dict(self.forged).get(other, other)
            rank = self.members.index(other) if joins else NO_RANK
            kinds = dict.fromkeys(allowed, joins)
            peers.append(Peer(gpu=number, rank=rank, space=3 + self.number, **kinds))
        return peers

    @property
    def tracked_first(self):
        return self.workgroups - self.chunk

    @property
    def ranges(self):
        chunk, count = self.chunk, len(self.members)
        leave = [(k * chunk, (k + 1) * chunk, Action.REMOTE, 0, 0) for k in range(count - 1)]
        return [*leave, ((count - 1) * chunk, count * chunk, Action.OWN, count, 0)]

    def registers_of(self, gpu):
        """Return the registers of the launch on a GPU."""
        left = iter(range(len(self.members)))
        others, last = self.others(gpu), len(self.members) - 1
        found = []
        for name, fields in self.registers:
            if name == "RANGE_PEERS":
                k = next(left)
                peers = 1 << port_to(gpu, others[k]) if k < last else 0
                fields = {"peers": peers, "slot_offset": (last - k) * self.chunk}
            found.append((name, fields))
        return found

    def accesses(self, gpu):
        """Return the accesses that a GPU's memories see: updates of every member."""
        expected = Counter()
        for tile in self.order(gpu)[-self.chunk :]:
            for atom, _ in atoms_of(tile, self.region):
                expected[Access.UPDATE, Origin.COMPUTE, atom] += 1
                expected[Access.UPDATE, Origin.COMMUNICATION, atom] += len(self.members) - 1
        return expected


def attach(m, top, links):
    """Connect the ports of a top for other GPUs with its links."""
    sides = (
        (top.channel, links.channel, ChannelSignature(RING), OF_CHANNEL),
        (top.context, links.context, ContextSignature(RING), OF_CONTEXT),
    )
    for tops, others, signature, names in sides:
        for port, other in zip(tops, others, strict=True):
            for name in names:
                member = signature.members[name]
                here, there = getattr(port, name), getattr(other, name)
                if not member.is_port:
                    wiring.connect(m, here, there)
                elif member.flow is wiring.Out:
                    m.d.comb += there.eq(here)
                else:
                    m.d.comb += here.eq(there)
    m.d.comb += links.off.eq(top.link_off)


class Mesh:
    """GPUs; ``wires[gpu][port]`` has the wire from this port to the GPU at its other end."""

    def __init__(self, duts, links, resets, seed, faults):
        print("seed", seed)
        rng = random.Random(seed)
        self.rng, self.links = rng, links
        self.gpus = [Gpu(dut, number, rng) for number, dut in enumerate(duts)]
        self.wires = [
            [Wire(rng, faults, LinkPacket(RING), LINK) for _ in range(GPUS - 1)] for _ in duts
        ]
        self._resets = resets

    async def reset(self, ctx, number):
        """Reset one GPU for a cycle."""
        ctx.set(self._resets[number], 1)
        await ctx.tick()
        ctx.set(self._resets[number], 0)

    async def launch(self, ctx, number, work, changes=(), *, runs=True):
        """Launch the work on a GPU; its kernel begins at once, unless ``runs`` is false."""
        gpu = self.gpus[number]
        rank = work.members.index(number)
        await settle(ctx, gpu.dut, work.number, rank=rank, peers=work.peers(number))
        registers = [*work.registers_of(number), *changes, ("CONTROL", {"launch": 1})]
        await program(ctx, gpu.dut, registers, work.number)
        if runs:
            gpu.add(work)

    async def finish(self, ctx, *works, most_cycles=4000):
        """Run until the launches are over on their members."""
        ports = [self.gpus[gpu].dut.context[w.number] for w in works for gpu in w.members]
        for _ in range(most_cycles):
            await ctx.tick()
            if all(ctx.get(port.done) and ctx.get(port.idle) for port in ports):
                return
        raise AssertionError("A launch does not end")

    def check(self, *works):
        """Check that the memories have seen all accesses of these launches, each once."""
        for gpu in self.gpus:
            for number in {work.number for work in works}:
                mine = [w for w in works if w.number == number and gpu.number in w.members]
                expected = sum((work.accesses(gpu.number) for work in mine), Counter())
                assert not mine or gpu.seen(mine[0]) == expected, (gpu.number, number)

    async def run(self, ctx):
        """Drive memories, kernels and wires cycle by cycle."""
        cycle = 0
        for number, links in enumerate(self.links):
            entries = [{"enable": 1, "gpu": gpu_of(number, port)} for port in range(GPUS - 1)]
            ctx.set(links.gpus, entries)
        while True:
            for gpu in self.gpus:
                gpu.drive(ctx, cycle)
            for number, links in enumerate(self.links):
                for port, wire in enumerate(self.wires[number]):
                    other = gpu_of(number, port)
                    back = self.links[other].wires[port_to(other, number)]
                    self._carry(ctx, links.wires[port].send, wire, back.receive, cycle)
            await ctx.tick()
            cycle += 1

    def _carry(self, ctx, send, wire, receive, cycle):
        arrives = wire.take(cycle)
        ctx.set(receive.valid, arrives is not None)
        if arrives is not None:
            ctx.set(receive.p.as_value(), arrives)
        takes = self.rng.random() >= wire.faults.busy
        ctx.set(send.ready, takes)
        if takes and ctx.get(send.valid):
            wire.put(ctx.get(send.p.as_value()), cycle)


@cache
def _design():
    """Return a design of all tops with their links, the tops, the links, and the resets."""
    duts, links, resets, m = [], [], [], Module()
    for _ in range(GPUS):
        inside = Module()
        inside.submodules.top = top = T3(RING)
        inside.submodules.links = mesh = MeshLinks(RING, LINK, ports=GPUS - 1, port_depth=4)
        attach(inside, top, mesh)
        resets.append(Signal())
        m.submodules += ResetInserter(resets[-1])(inside)
        duts.append(top)
        links.append(mesh)
    return m, duts, links, resets


def simulate(bench, seed, *, faults=CLEAN):
    """Run ``bench(ctx, mesh)`` with the wires, memories and kernels beside it."""
    design, duts, links, resets = _design()
    mesh = Mesh(duts, links, resets, seed, faults)

    async def run(ctx):
        await ctx.tick().repeat(4 * LINK.lifetime_cycles)  # sessions begin
        await bench(ctx, mesh)

    simulate_design(design, run, background=mesh.run)
