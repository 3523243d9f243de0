"""The order of memory accesses, by the rules of the integration guide ("The memory, as software
sees it"). A channel is compared with the golden model in every cycle."""

import random
from collections import Counter, deque

import numpy as np
import pytest

from rtl.interface.encodings import Access, Datatype, Operation, Origin, PacketKind, StoreKind
from rtl.interface.layouts import NmcRequest
from tb.nmc_unit.operands import structured
from tb.nmc_unit.reference import reduce_bits
from tests.support.channel_bench import ALL, DATA, TIMING, end, packet, store
from tests.support.channel_bench import simulate as simulate_channel
from tests.support.top_bench import (
    OFFSET,
    ORDER,
    ROWS,
    RUN,
    STRIDE,
    WAVE,
    WORKGROUPS,
    admit,
    atoms_of,
    channel_number,
    launch,
    offer,
    program,
    simulate,
    traffic,
)
from tests.support.top_bench import packet as top_packet
from tests.support.top_bench import store as top_store

# Atoms by dispatch index and wavefront, of the workgroups that are reduced here.
TILES = {
    (index, wavefront): {atom for atom, of in atoms_of(ORDER[index]) if of == wavefront}
    for index in range(1, WORKGROUPS)
    for wavefront in range(RUN // WAVE)
}
MOST_CYCLES = 1500


class Memory:
    """DRAM of one channel, which issues its accesses in any order and acknowledges them.

    ``issued`` is the log of all channels. Requests for which ``held`` is true wait.
    """

    def __init__(self, port, issued, rng=None):
        self.port, self.issued, self._rng = port, issued, rng
        self.held = lambda request: False
        self.entered, self._waiting, self._acks = [], [], deque()

    def drive(self, ctx):
        """One cycle: take a request, issue another, acknowledge a third."""
        port = self.port
        ctx.set(port.returns.valid, 0)
        free = [request for request in self._waiting if not self.held(request)]
        if free and (self._rng is None or self._rng.random() < 0.4):
            request = free[0] if self._rng is None else self._rng.choice(free)
            self._waiting.remove(request)
            self.issued.append(request)
            if request.access == Access.READ:
                ctx.set(port.returns.p.slot, request.tag)
                ctx.set(port.returns.valid, 1)
            else:
                self._acks.append(request)
        ctx.set(port.issue_acks.valid, bool(self._acks))
        if self._acks:
            names = ("access", "atom", "owner", "dispatch_index", "wavefront")
            ctx.set(port.issue_acks.p, {name: getattr(self._acks[0], name) for name in names})
            if ctx.get(port.issue_acks.ready):
                self._acks.popleft()
        ctx.set(port.dram.ready, 1)
        if ctx.get(port.dram.valid):
            request = ctx.get(port.dram.p)
            self._waiting.append(request)
            self.entered.append((request, len(self.issued)))


class Run:
    """The kernel of ``top_bench`` through the top, with memories that reorder."""

    def __init__(self, seed):
        print(f"seed {seed}")
        self.issued = []
        self._rng = random.Random(seed)
        self._stores, self._packets = traffic()

    def start(self, ctx, dut):
        self.memories = [Memory(port, self.issued, self._rng) for port in dut.channel]
        admit(ctx, dut.context[0], 100)

    def drive(self, ctx, dut):
        for memory, port, *queues in zip(
            self.memories, dut.channel, self._stores, self._packets, strict=True
        ):
            memory.drive(ctx)
            for stream, queue in zip((port.stores, port.link_in), queues, strict=True):
                offered = bool(queue) and self._rng.random() < 0.5
                ctx.set(stream.valid, offered)
                if offered:
                    ctx.set(stream.p, queue[0])
                    if ctx.get(stream.ready):
                        queue.popleft()
            ctx.set(port.link_out.ready, 1)

    def updates(self, count=None):
        """Origins of the updates of each atom, in the order in which they were issued."""
        found = {}
        for request in self.issued[:count]:
            if request.access == Access.UPDATE:
                found.setdefault(request.atom, []).append(request.origin)
        return found

    def whole_tiles(self, count=None):
        """Tiles with both updates of each atom among the first ``count`` issued requests."""
        updates = self.updates(count)
        return {
            tile
            for tile, atoms in TILES.items()
            if all(len(updates.get(atom, ())) == 2 for atom in atoms)
        }


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.verify)])
def test_rules_1_to_3_of_a_launch(seed):
    """Rules 1, 2 and 3: a tile is read when both updates of all its atoms were issued, in
    whatever order; the context is done not before that, and its own chunk is whole."""
    run = Run(seed)

    async def bench(ctx, dut):
        await launch(ctx, dut)
        run.start(ctx, dut)
        port = dut.context[0]
        for _ in range(MOST_CYCLES):
            run.drive(ctx, dut)
            await ctx.tick()
            whole = run.whole_tiles()
            assert ctx.get(port.tiles) <= len(whole)
            if ctx.get(port.done):
                assert whole == TILES.keys()
                if ctx.get(port.idle):
                    break
        assert ctx.get(port.done) and ctx.get(port.idle)

    simulate(bench)
    reads = Counter()
    for memory in run.memories:
        for request, before in memory.entered:
            if request.access == Access.READ:
                (tile,) = (tile for tile, atoms in TILES.items() if request.atom in atoms)
                assert tile in run.whole_tiles(before)
                reads[tile] += 1
    assert reads == {tile: len(atoms) for tile, atoms in TILES.items() if tile[0] != 3}
    both = (Origin.COMPUTE, Origin.COMMUNICATION)
    assert set(map(tuple, run.updates().values())) == {both, both[::-1]}


def test_rule_2_the_sum_is_the_same():
    """Rule 2: of an atom's two updates either may be issued first, and the sum is the same."""
    seed, numbers = 5, 16
    print(f"seed {seed}")
    local, remote = structured(np.random.default_rng(seed), Datatype.FP16, 8 * numbers)
    sums = reduce_bits(local, remote, Operation.SUM, Datatype.FP16)

    async def bench(channel):
        ctx, nmc_in, nmc_out = channel.ctx, channel.dut.nmc_in, channel.dut.nmc_out
        views = [{"launch_configuration": {"epoch": 9}}] * 2
        ctx.set(channel.dut.contexts, channel.dut.contexts.shape().const(views))

        async def issue(stored, epoch, operand):
            request = {"stored": stored, "stored_epoch": epoch, "operand": operand}
            kind = {"op": Operation.SUM, "dtype": Datatype.FP16}
            ctx.set(nmc_in.p, NmcRequest(DATA).const(request | kind))
            ctx.set(nmc_in.valid, 1)
            await ctx.tick()
            ctx.set(nmc_in.valid, 0)
            (result,) = await ctx.tick().sample(nmc_out.p).until(nmc_out.valid)
            return list(result.value), result.epoch

        for first in range(0, len(sums), numbers):
            one, other, total = (
                of[first : first + numbers].view(np.uint64).tolist() for of in (local, remote, sums)
            )
            for order in ((one, other), (other, one)):
                stored, epoch = await issue([1, 2, 3, 4], 8, order[0])
                assert await issue(stored, epoch, order[1]) == (total, 9)

    simulate_channel(DATA, bench)


@pytest.mark.parametrize("kind", [PacketKind.STORE, PacketKind.UPDATE])
def test_rule_3_a_packet_counts_when_it_is_issued(kind):
    """Rule 3: a write that has only reached the memory controller does not count; it counts from
    its acknowledgement on.
    """

    async def bench(channel):
        await channel.cycle({"link_in": packet(12, kind=kind)})
        ((port, request),), _ = await channel.drain()
        assert port == "dram"
        assert await channel.drain() == ([], [])
        assert channel.ctx.get(channel.dut.stored) == 0
        await channel.cycle({"issue_acks": _acknowledgement(request)})
        ports = [port for port, _ in (await channel.drain())[0]]
        is_write = kind == PacketKind.STORE
        assert ports == ([] if is_write else ["tile_issue_acks"])
        assert channel.ctx.get(channel.dut.stored) == is_write

    simulate_channel(TIMING, bench)


# Accesses that idle includes, by port: stores reduced here or sent, and packets.
FENCED = {
    "update": ("stores", store(12), "dram"),
    "remote store": ("stores", store(0), "link_out"),
    "end-of-tile marker": ("stores", store(12, kind=StoreKind.END_OF_TILE), "end_of_tile_markers"),
    "packet's update": ("link_in", packet(12), "dram"),
    "packet's marker": ("link_in", end(12), "end_of_tile_markers"),
    "packet's write": ("link_in", packet(60, kind=PacketKind.STORE), "dram"),
}


@pytest.mark.parametrize("many", [False, True], ids=["one", "queues full"])
@pytest.mark.parametrize("kind", FENCED)
def test_rule_4_idle_is_the_fence(kind, many):
    """Rule 4: idle comes when all that has entered was issued, or has left over the link, however
    long neither the DRAM nor the link takes anything. A read after it is the last access. A packet
    counts from the cycle after its check on."""
    port, request, leaves_by = FENCED[kind]

    async def bench(channel):
        ctx, dut = channel.ctx, channel.dut
        entered, left, unissued, issued = 0, [], deque(), 0

        async def cycle(offered, taken):
            """Returns whether context 0 is idle."""
            if unissued and unissued[0][0] <= 0:
                offered = offered | {"issue_acks": _acknowledgement(unissued[0][1])}
            accepted = channel.model.ready("issue_acks")
            ports, errors = await channel.cycle(offered, taken)
            assert not errors
            nonlocal issued
            if "issue_acks" in offered and accepted:
                unissued.popleft()
                issued += 1
            for entry in unissued:
                entry[0] -= 1
            left.extend(name for name in ports if name != "tile_issue_acks")
            if "dram" in ports and ports["dram"]["access"] != Access.READ:
                unissued.append([9, ports["dram"]])
            return ctx.get(dut.idle) & 1

        for _ in range(60 if many else 1):
            entered += channel.model.ready(port)
            idle = await cycle({port: request}, ())
            assert not idle or port == "link_in"
        assert channel.model.ready(port) != many
        if port == "link_in":
            await cycle({}, ())
        # The other context is not involved.
        for _ in range(20):
            assert not await cycle({}, ()) and ctx.get(dut.idle) >> 1
        for _ in range(400):
            if await cycle({}, ALL):
                break
        assert left == [leaves_by] * entered
        assert issued == (entered if leaves_by == "dram" else 0) and not unissued
        await channel.cycle({"reads": {"atom": request["atom"], "tag": 1}})
        ((got, read),), _ = await channel.drain()
        assert (got, read["access"], read["atom"]) == ("dram", Access.READ, request["atom"])

    simulate_channel(TIMING, bench)


@pytest.mark.parametrize(
    "ordinary",
    [store(12, atom=999), store(12, context=7), store(41)],
    ids=["of no region", "of another address space", "of no range"],
)
def test_rule_5_reads_may_overtake_ordinary_stores(ordinary):
    """Rule 5: a read of the next cycle leaves before the store of the same atom, and idle does not
    wait for an ordinary store."""

    async def bench(channel):
        read = {"atom": ordinary["atom"], "tag": 1}
        accesses = []
        for offered in ({"stores": ordinary}, {"reads": read}, *[{}] * 8):
            ports, _ = await channel.cycle(offered)
            accesses += [request["access"] for request in ports.values()]
        assert accesses == [Access.READ, Access.WRITE]
        # With the DRAM stopped, the store waits without limit.
        await channel.cycle({"stores": ordinary}, ())
        for _ in range(8):
            await channel.cycle({}, ())
        assert channel.ctx.get(channel.dut.idle) == 3
        ((_, request),), _ = await channel.drain()
        assert request["access"] == Access.WRITE

    simulate_channel(TIMING, bench)


def test_rule_6_no_order_between_channels():
    """Rule 6: if the first channel's DRAM accepts nothing, a later store in the second channel
    reaches its DRAM first.
    """
    first, later = (
        next(atom for atom, _ in atoms_of(ORDER[1]) if channel_number(atom) == channel)
        for channel in (0, 1)
    )

    async def bench(ctx, dut):
        await launch(ctx, dut)
        stopped, free = dut.channel
        ctx.set(stopped.dram.ready, 0)
        ctx.set(free.dram.ready, 1)
        await offer(ctx, store=(stopped.stores, top_store(first, 1, 0)))
        await offer(ctx, store=(free.stores, top_store(later, 1, 0)))
        (request,) = await ctx.tick().sample(free.dram.p).until(free.dram.valid)
        assert request.atom == later
        assert ctx.get(stopped.dram.valid) and ctx.get(stopped.dram.p.atom) == first

    simulate(bench)


@pytest.mark.parametrize("waits", [True, False])
def test_rule_7_a_copy_reads_what_was_issued_before(waits):
    """Rule 7: a copy that starts after idle reads the data of a packet; otherwise it may read the
    older data."""
    start = atoms_of(ORDER[3])[0][0]
    rows = [start + row * STRIDE + index for row in range(ROWS) for index in range(RUN)]
    write = top_packet(start, 3, 0) | {"kind": PacketKind.STORE}

    async def bench(ctx, dut):
        await launch(ctx, dut)
        issued, held = [], True
        memories = [Memory(port, issued) for port in dut.channel]
        for memory in memories:
            memory.held = lambda request: held and request.access == Access.WRITE

        async def run(cycles):
            for _ in range(cycles):
                for memory, port in zip(memories, dut.channel, strict=True):
                    memory.drive(ctx)
                    ctx.set(port.link_out.ready, 1)
                await ctx.tick()

        async def copy():
            copy_of_atom = ("COPY", {"command": 0, "peers": 1})
            copies = [("COPY_START_LO", {"bytes": start * 32}), copy_of_atom]
            await program(ctx, dut, copies)
            await run(80)

        await offer(ctx, packet=(dut.channel[channel_number(start)].link_in, write))
        await run(40)
        assert not ctx.get(dut.context[0].idle)
        if not waits:
            await copy()
        held = False
        await run(20)
        assert ctx.get(dut.context[0].idle)
        if waits:
            await copy()
        seen = [(request.access, request.atom) for request in issued]
        reads = [(Access.READ, atom) for atom in rows]
        assert sorted(seen[1 if waits else 0 :][: len(rows)], key=str) == sorted(reads, key=str)
        assert seen[0 if waits else -1] == (Access.WRITE, start)
        assert len(seen) == len(rows) + 1

    simulate(bench)


def test_rule_8_packets_of_a_channel_stay_in_order():
    """Rule 8: accesses reach a channel's DRAM in the order of arrival, whatever their kind."""
    kinds = [PacketKind.UPDATE, PacketKind.STORE, PacketKind.STORE] * 8
    packets = deque(packet(12, atom=1500 + number, kind=kind) for number, kind in enumerate(kinds))

    async def bench(channel):
        atoms = []
        for step in range(200):
            offered = {"link_in": packets[0]} if packets else {}
            takes = channel.model.ready("link_in")
            taken = ALL if step % 3 == 0 else ALL - {"dram"}
            ports, _ = await channel.cycle(offered, taken)
            if offered and takes:
                packets.popleft()
            atoms += [ports["dram"]["atom"]] if "dram" in ports else []
        assert atoms == [1500 + number for number in range(len(kinds))]

    simulate_channel(TIMING, bench)


def test_rule_8_no_order_between_channels():
    """Rule 8: a flag in the second channel is written and seen before the data of the first, on
    the link as at the receiver's DRAM."""
    data, flag = (
        next(atom for atom, _ in atoms_of(ORDER[0]) if channel_number(atom) == channel)
        for channel in (0, 1)
    )

    async def bench(ctx, dut):
        await launch(ctx, dut)
        slow, fast = dut.channel
        for port in (slow, fast):
            ctx.set(port.link_out.ready, port is fast)
            ctx.set(port.dram.ready, port is fast)
        for port, atom in ((slow, data), (fast, flag)):
            write = top_packet(atom, 0, 0) | {"kind": PacketKind.STORE}
            await offer(
                ctx,
                sent=(port.stores, top_store(atom, 0, 0)),
                received=(port.link_in, write),
            )
        seen = []
        for _ in range(20):
            seen += [
                (name, ctx.get(getattr(fast, name).p.atom))
                for name in ("link_out", "dram")
                if ctx.get(getattr(fast, name).valid)
            ]
            await ctx.tick()
        assert sorted(seen) == [("dram", flag), ("link_out", flag + OFFSET)]
        assert ctx.get(slow.link_out.valid) and ctx.get(slow.link_out.p.atom) == data + OFFSET
        assert ctx.get(slow.dram.valid) and ctx.get(slow.dram.p.atom) == data

    simulate(bench)


def _acknowledgement(request):
    names = ("access", "atom", "owner", "dispatch_index", "wavefront")
    return {name: request[name] for name in names}
