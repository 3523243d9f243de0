"""Two launches at once through the top: each as if it were alone, whatever becomes of the other."""

import random
from collections import Counter, deque
from dataclasses import dataclass, replace

import pytest
from top_bench import (
    PROGRAM,
    RUN,
    STRIDE,
    WAVE,
    WORKGROUPS,
    Memory,
    P,
    abort,
    atoms_of,
    channel_number,
    launch,
    offer,
    packet,
    program,
    settle,
    simulate,
    status,
    store,
)

from rtl.interface.encodings import Access, Datatype, ErrorCode, Operation, Origin, PacketKind

TWO = replace(P, contexts=2, remote_depth=9)
MOST_CYCLES = 600


@dataclass(frozen=True)
class Kernel:
    """What a context does: the launch of ``top_bench``, with buffers and an order of its own."""

    number: int
    local: int
    remote: int
    region: int
    offset: int
    first: int
    ways: int
    op: Operation
    dtype: Datatype

    @property
    def order(self):
        return [(self.first + dispatch_index) % WORKGROUPS for dispatch_index in range(WORKGROUPS)]

    @property
    def registers(self):
        """What is other than in ``PROGRAM``."""
        transfer = dict(PROGRAM)["COMMAND_TRANSFER"]
        return [
            ("ADDRESS_SPACE", {"local": self.local, "remote": self.remote, "enable": 1}),
            ("WAYS", {"mask": self.ways}),
            ("FIRST_WORKGROUP", {"workgroup": self.first}),
            ("REGION_BASE_LO", {"bytes": self.region * 32}),
            ("REGION_LIMIT_LO", {"bytes": (self.region + 256) * 32}),
            ("REGION_COMMIT", {"index": 0, "enable": 1}),
            ("COMMAND_TRANSFER", transfer | {"op": self.op.value, "dtype": self.dtype.value}),
            ("COMMAND_OFFSET_LO", {"bytes": self.offset * 32}),
            ("COMMAND_COMMIT", {"index": 0}),
        ]

    def store(self, *args, **fields):
        return store(*args, **fields) | {"context": self.local}

    def packet(self, *args):
        return packet(*args) | {"context": self.local, "op": self.op, "dtype": self.dtype}

    def stores(self):
        """In the dispatch order, each workgroup's markers behind its tile."""
        for workgroup in self.order:
            tile = atoms_of(workgroup, self.region)
            for atom, wavefront in tile:
                yield self.store(atom, workgroup, wavefront)
            for wavefront in range(RUN // WAVE):
                yield self.store(tile[wavefront * WAVE][0], workgroup, wavefront, end=True)

    def packets(self):
        """The neighbour's, of all workgroups but the first."""
        for workgroup in self.order[1:]:
            for atom, wavefront in atoms_of(workgroup, self.region):
                yield self.packet(atom, workgroup, wavefront)

    def accesses(self):
        """What the memories see: the first workgroup leaves, the next two do when complete, and
        the last stays."""
        expected = Counter()
        for dispatch_index, workgroup in enumerate(self.order):
            for atom, _ in atoms_of(workgroup, self.region):
                if dispatch_index:
                    expected[Access.UPDATE, Origin.COMPUTE, atom] += 1
                    expected[Access.UPDATE, Origin.COMMUNICATION, atom] += 1
                if dispatch_index in (1, 2):
                    expected[Access.READ, Origin.COMMUNICATION, atom] += 1
        return expected

    def sends(self):
        """The packets to the neighbour."""
        kind, op, dtype = PacketKind.UPDATE, self.op, self.dtype
        return Counter(
            (self.number, kind, self.remote, atom + self.offset, workgroup, wavefront, op, dtype)
            for workgroup in self.order[:3]
            for atom, wavefront in atoms_of(workgroup, self.region)
        )


KERNELS = [
    Kernel(0, 3, 5, 1024, 4096, 1, 0b0101, Operation.MAX, Datatype.FP32),
    Kernel(1, 9, 3, 2048, 8192, 2, 0b1010, Operation.SUM, Datatype.BF16),
]


class Traffic:
    """Stores and packets of the kernels that were added, mixed at random, and what they lead to."""

    def __init__(self, seed):
        print(f"seed {seed}")
        self._rng = random.Random(seed)
        # By channel and stream: what a port offers, and what waits of each kernel.
        self._offered = {}
        self._waiting = {}
        self.sent = [[] for _ in range(TWO.channels)]
        self.memories = []

    def add(self, kernel):
        for stream, items in (("stores", kernel.stores()), ("link_in", kernel.packets())):
            for item in items:
                port = channel_number(item["atom"]), stream
                self._waiting.setdefault(port, {}).setdefault(kernel, deque()).append(item)

    def drop(self, kernel):
        """The kernel has ended: nothing more comes of it."""
        for queues in self._waiting.values():
            queues.pop(kernel, None)

    def accesses(self, kernel):
        """To the kernel's buffer."""
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
        self.memories = [Memory(port) for port in dut.channel]
        cycle = 0
        while True:
            for index, port in enumerate(dut.channel):
                self.memories[index].drive(ctx, cycle)
                for name in ("stores", "link_in"):
                    self._offer(ctx, getattr(port, name), (index, name))
                self._take(ctx, port, self.sent[index])
            await ctx.tick()
            cycle += 1

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
        ctx.set(port.link_out.ready, 1)
        if ctx.get(port.link_out.valid):
            p = ctx.get(port.link_out.p)
            where = p.kind, p.context, p.atom, p.workgroup, p.wavefront, p.op, p.dtype
            sent.append((ctx.get(port.link_owner), *where))


async def begin(ctx, dut, traffic, *kernels):
    for kernel in kernels:
        await launch(ctx, dut, kernel.registers, kernel.number)
        ctx.set(dut.context[kernel.number].credit_limit_in, 100)
    for kernel in kernels:
        traffic.add(kernel)


async def finish(ctx, dut, kernel):
    """Until the launch is over; gives the cycles in which there was something to do."""
    port, busy = dut.context[kernel.number], 0
    for _ in range(MOST_CYCLES):
        await ctx.tick()
        busy += not ctx.get(port.idle)
        if busy and ctx.get(port.done) and ctx.get(port.idle):
            return busy
    raise AssertionError(f"context {kernel.number} does not end")


def check(ctx, dut, traffic, kernel):
    """A whole launch, and nothing else, has been done for this context."""
    port = dut.context[kernel.number]
    assert ctx.get(port.done) and ctx.get(port.idle) and not ctx.get(port.irq)
    assert traffic.accesses(kernel) == kernel.accesses()
    assert traffic.sends(kernel) == kernel.sends()
    # Each row is sent in its order, as far as the channel has it.
    for channel in traffic.sent:
        for workgroup in kernel.order[1:3]:
            atoms = [one[3] for one in channel if (one[0], one[4]) == (kernel.number, workgroup)]
            start = atoms_of(workgroup, kernel.region)[0][0] + kernel.offset
            for row in (start, start + STRIDE):
                of_row = [atom for atom in atoms if atom in range(row, row + RUN)]
                assert of_row and of_row == sorted(of_row)


@pytest.mark.parametrize("running", [KERNELS[:1], KERNELS[1:], KERNELS], ids=["0", "1", "both"])
def test_reduce_scatter(running):
    """The memory accesses and the packets of a context are the same alone and beside another."""
    traffic = Traffic(1)

    async def bench(ctx, dut):
        await begin(ctx, dut, traffic, *running)
        both = 0
        for _ in range(MOST_CYCLES // 2):
            both += not any(ctx.get(port.idle) for port in dut.context)
            await ctx.tick()
        assert (both > 50) == (len(running) == 2)
        for kernel in KERNELS:
            tiles = ctx.get(dut.context[kernel.number].tiles)
            assert (await status(ctx, dut, "TILES", kernel.number))["count"] == tiles
            if kernel in running:
                check(ctx, dut, traffic, kernel)
                assert tiles == 6
                assert (await status(ctx, dut, "OLDEST", kernel.number))["dispatch_index"] == 4
            else:
                assert tiles == 0 and not ctx.get(dut.context[kernel.number].done)
        assert sum(map(len, traffic.sent)) == 48 * len(running)

    simulate(bench, TWO, background=traffic)


@pytest.mark.parametrize("after", [1, 15, 40, 80])
def test_abort_of_one_context(after):
    """Its work is forgotten, in any state, and the other's is not; then it can do all anew."""
    given_up, other = KERNELS
    traffic = Traffic(after)

    async def bench(ctx, dut):
        await begin(ctx, dut, traffic, given_up, other)
        await ctx.tick().repeat(after)
        await program(ctx, dut, [("CONTROL", {"abort": 1})], given_up.number)
        traffic.drop(given_up)
        await settle(ctx, dut, given_up.number)
        mine = dut.context[given_up.number]
        left = ctx.get(mine.tiles), traffic.accesses(given_up), traffic.sends(given_up)
        assert ctx.get(mine.idle)
        assert left[0] < 6 and left[1] != given_up.accesses()
        await finish(ctx, dut, other)
        check(ctx, dut, traffic, other)
        assert ctx.get(dut.context[other.number].tiles) == 6
        assert left == (
            ctx.get(mine.tiles),
            traffic.accesses(given_up),
            traffic.sends(given_up),
        )
        assert ctx.get(mine.idle) and not ctx.get(mine.done) and not ctx.get(mine.irq)
        # From the beginning, with nothing left of the first time.
        for memory, sent in zip(traffic.memories, traffic.sent, strict=True):
            memory.seen.clear()
            sent.clear()
        await begin(ctx, dut, traffic, given_up)
        await finish(ctx, dut, given_up)
        check(ctx, dut, traffic, given_up)
        assert ctx.get(mine.tiles) == left[0] + 6
        assert ctx.get(dut.context[other.number].tiles) == 6

    simulate(bench, TWO, background=traffic)


@pytest.mark.parametrize("stopped", range(2))
def test_link_without_room_for_one_context(stopped):
    """The other one finishes; the stopped one does when there is room."""
    waiting, other = KERNELS[stopped], KERNELS[1 - stopped]
    traffic = Traffic(stopped)

    async def bench(ctx, dut):
        for port in dut.channel:
            ctx.set(port.link_room, 1 << other.number)
        await begin(ctx, dut, traffic, *KERNELS)
        await finish(ctx, dut, other)
        check(ctx, dut, traffic, other)
        await ctx.tick().repeat(100)
        assert not traffic.sends(waiting)
        # All is done but for the link: remote stores and what the lanes have read wait.
        assert ctx.get(dut.context[waiting.number].tiles) == 6
        assert not ctx.get(dut.context[waiting.number].idle)
        for port in dut.channel:
            assert ctx.get(port.stores_room) == 1 << other.number
            ctx.set(port.link_room, 3)
        await finish(ctx, dut, waiting)
        check(ctx, dut, traffic, waiting)
        for port in dut.channel:
            assert ctx.get(port.stores_room) == 3

    simulate(bench, TWO, background=traffic)


@pytest.mark.parametrize("stopped", range(2))
def test_room_that_ends(stopped):
    """At most four packets of the context come after the end of its room, and none is lost."""
    waiting = KERNELS[stopped]
    traffic = Traffic(stopped)

    async def bench(ctx, dut):
        await begin(ctx, dut, traffic, *KERNELS)
        for _ in range(40):
            before = [len(channel) for channel in traffic.sent]
            for port in dut.channel:
                ctx.set(port.link_room, 3 ^ 1 << stopped)
            await ctx.tick().repeat(8)
            for channel, count in zip(traffic.sent, before, strict=True):
                late = [one for one in channel[count:] if one[0] == stopped]
                assert len(late) <= 4
            quiet = traffic.sends(waiting).total()
            await ctx.tick().repeat(4)
            assert traffic.sends(waiting).total() == quiet
            for port in dut.channel:
                ctx.set(port.link_room, 3)
            await ctx.tick().repeat(5)
        for kernel in KERNELS:
            check(ctx, dut, traffic, kernel)

    simulate(bench, TWO, background=traffic)


async def begin_narrow(ctx, dut):
    """Launches that admit one workgroup: the others are ahead."""
    for kernel in KERNELS:
        narrow = [*kernel.registers, ("CREDIT_WINDOW", {"workgroups": 1})]
        await launch(ctx, dut, narrow, kernel.number)
    await ctx.tick().repeat(2)


async def errors_of(ctx, dut, number):
    error = await status(ctx, dut, "ERROR", number)
    return error["code"], (await status(ctx, dut, "ERRORS", number))["count"]


def test_errors_go_to_the_context_that_caused_them():
    """Those of stores, of packets, of the tracker; two in one cycle to both."""
    first, second = KERNELS
    ahead = [kernel.store(kernel.region, kernel.order[3], 1) for kernel in KERNELS]
    packets = [kernel.packet(kernel.region, kernel.order[3], 1) for kernel in KERNELS]
    no_atoms = second.store(second.region, second.order[1], 1, end=True) | {"tile_atoms": 0}
    foreign = packets[0] | {"context": 12}
    store_ahead, packet_ahead = ErrorCode.STORE_AHEAD.value, ErrorCode.PACKET_AHEAD.value
    none = (0, 0)

    async def bench(ctx, dut):
        await begin_narrow(ctx, dut)

        async def reported(*offered):
            """What both contexts report of streams that have a payload in one cycle."""
            for kernel in KERNELS:
                await program(ctx, dut, [("CONTROL", {"clear_error": 1})], kernel.number)
            await ctx.tick()
            await offer(ctx, **{str(number): one for number, one in enumerate(offered)})
            pending = []
            for _ in range(12):
                await ctx.tick()
                pending.append([ctx.get(port.irq) for port in dut.context])
            seen = [await errors_of(ctx, dut, kernel.number) for kernel in KERNELS]
            assert pending[-1] == [one != none for one in seen]
            return seen, pending

        ports = dut.channel
        assert (await reported((ports[0].stores, ahead[0])))[0] == [(store_ahead, 1), none]
        assert (await reported((ports[0].stores, ahead[1])))[0] == [none, (store_ahead, 1)]
        assert (await reported((ports[1].link_in, packets[1])))[0] == [none, (packet_ahead, 1)]
        seen, _ = await reported((ports[1].stores, no_atoms))
        assert seen == [none, (ErrorCode.ZERO_THRESHOLD.value, 1)]
        # Nobody's address space.
        seen, _ = await reported((ports[1].link_in, foreign))
        assert seen == [(ErrorCode.PACKET_UNMAPPED.value, 1), none]
        for pair in (
            ((ports[0].stores, ahead[0]), (ports[1].stores, ahead[1])),
            ((ports[1].stores, ahead[0]), (ports[0].stores, ahead[1])),
        ):
            seen, pending = await reported(*pair)
            assert seen == [(store_ahead, 1), (store_ahead, 1)]
            assert [0, 1] not in pending and [1, 0] not in pending
        # A store and a packet at one channel; the lower channel's goes to another context.
        seen, _ = await reported((ports[1].stores, ahead[0]), (ports[1].link_in, packets[1]))
        assert seen == [(store_ahead, 1), (packet_ahead, 1)]
        three = (ports[0].stores, ahead[1]), (ports[1].stores, ahead[0])
        seen, _ = await reported(*three, (ports[1].link_in, packets[0]))
        assert seen == [(store_ahead, 1), (store_ahead, 1)]

    simulate(bench, TWO)


def test_clearing_of_errors_is_of_one_context():
    async def bench(ctx, dut):
        await begin_narrow(ctx, dut)
        for kernel, port in zip(KERNELS, dut.channel, strict=True):
            ahead = kernel.store(kernel.region, kernel.order[3], kernel.number)
            await offer(ctx, store=(port.stores, ahead))
        await ctx.tick().repeat(6)
        await program(ctx, dut, [("CONTROL", {"clear_error": 1})], 1)
        await ctx.tick().repeat(2)
        assert [ctx.get(port.irq) for port in dut.context] == [1, 0]
        assert await errors_of(ctx, dut, 0) == (ErrorCode.STORE_AHEAD.value, 1)
        assert await errors_of(ctx, dut, 1) == (0, 0)

    simulate(bench, TWO)


@pytest.mark.parametrize("late", range(2))
def test_timeout_is_of_one_context(late):
    """Both wait for ever; it is reported for the one that has a time, which can then be aborted."""

    async def bench(ctx, dut):
        await begin_narrow(ctx, dut)
        await abort(ctx, dut, late)
        registers = [*KERNELS[late].registers, ("TIMEOUT", {"cycles": 50})]
        await launch(ctx, dut, registers, late)
        await ctx.tick().repeat(70)
        assert [ctx.get(port.irq) for port in dut.context] == [late == 0, late == 1]
        assert (await errors_of(ctx, dut, late))[0] == ErrorCode.TIMEOUT.value
        assert await errors_of(ctx, dut, 1 - late) == (0, 0)
        await program(ctx, dut, [("CONTROL", {"abort": 1, "clear_error": 1})], late)
        await settle(ctx, dut, late)
        await ctx.tick().repeat(100)
        assert not ctx.get(dut.context[late].irq)

    simulate(bench, TWO)


@pytest.mark.parametrize("busy", range(2))
def test_idle_is_of_one_context(busy):
    """An update that the memory does not take is work of its context only."""
    kernel = KERNELS[busy]

    async def bench(ctx, dut):
        for each in KERNELS:
            await launch(ctx, dut, each.registers, each.number)
        await ctx.tick().repeat(5)
        assert all(ctx.get(port.idle) for port in dut.context)
        update = kernel.store(kernel.region + 2, kernel.order[1], 0)
        await offer(ctx, store=(dut.channel[0].stores, update))
        await ctx.tick().repeat(20)
        assert [ctx.get(port.idle) for port in dut.context] == [busy != 0, busy != 1]

    simulate(bench, TWO)


def test_a_store_into_the_other_context_is_an_ordinary_write():
    """A buffer belongs to an address space; the same atoms in another one are not tracked."""
    first, second = KERNELS
    write = second.store(first.region + 2, first.order[1], 0)
    traffic = Traffic(0)

    async def bench(ctx, dut):
        for each in KERNELS:
            await launch(ctx, dut, each.registers, each.number)
        await offer(ctx, store=(dut.channel[0].stores, write))
        await ctx.tick().repeat(40)
        assert traffic.accesses(first) == {(Access.WRITE, Origin.COMPUTE, write["atom"]): 1}
        for kernel in KERNELS:
            assert ctx.get(dut.context[kernel.number].idle)
            assert await errors_of(ctx, dut, kernel.number) == (0, 0)

    simulate(bench, TWO, background=traffic)
