"""Copies of a packet for several peers."""

import random

import pytest
from amaranth.sim import Simulator

from rtl.channel.link_merge import LinkMerge
from rtl.interface.encodings import PacketKind, StoreKind
from rtl.parameters import T3Parameters
from tb.golden import peer
from tests.support.channel_bench import ALL, TIMING, changed, simulate, store

P = T3Parameters(contexts=2)
PEERS = [peer(gpu=16 * place + 5, space=15 - place, rank=place) for place in range(8)]
PERMISSIONS = ("enable", "sends_stores", "sends_updates")
SOURCES = ("remote", "sends")


def receivers(mask):
    """GPUs and address spaces of a mask of peers, the lowest first."""
    return [(one["gpu"], one["space"]) for place, one in enumerate(PEERS) if mask >> place & 1]


def to(packet):
    return packet["destination"], packet["context"]


@pytest.mark.parametrize("mask", [0b1, 0b10, 0b10000000, 0b10100110, 0xFF, 0])
@pytest.mark.parametrize("kind", list(StoreKind))
def test_a_store_goes_to_each_peer(mask, kind):
    """Copies differ in destination and address space only, and leave in successive cycles."""

    async def bench(channel):
        channel.program(changed(peers=PEERS, ranges_0={"peers": mask}))
        await channel.cycle({"stores": store(3, kind=kind)})
        left = [(await channel.cycle())[0].get("link_out") for _ in range(20)]
        cycles = [cycle for cycle, packet in enumerate(left) if packet is not None]
        assert not cycles or cycles == list(range(cycles[0], cycles[-1] + 1))
        sent = [left[cycle] for cycle in cycles]
        assert [to(packet) for packet in sent] == receivers(mask)
        is_end = kind == StoreKind.END_OF_TILE
        for packet in sent:
            assert packet["kind"] == (PacketKind.END if is_end else PacketKind.UPDATE)
            # The tables' offset is -5.
            assert (packet["source"], packet["slot"], packet["wavefront"]) == (3, 0xFFFE, 3)
            assert packet["atom"] == (9 | 1 << 10 | 5 << 12 if is_end else 11500)

    simulate(TIMING, bench)


def of_bits(place):
    """Make a peer whose entry is enabled, and that may get stores and updates, by three bits."""
    bits = {name: place >> bit & 1 for bit, name in enumerate(PERMISSIONS)}
    return PEERS[place] | bits


@pytest.mark.parametrize("of_command", [PacketKind.STORE, PacketKind.UPDATE])
@pytest.mark.parametrize("kind", list(StoreKind))
def test_a_store_goes_to_peers_that_may_get_it(kind, of_command):
    """A launch whose peers change, or are removed, before its last store sends them nothing else
    than their entries allow; a store without such a peer is dropped.
    """
    is_end = kind == StoreKind.END_OF_TILE
    names = [f"sends_{one.name.lower()}s" for one in (PacketKind.STORE, PacketKind.UPDATE)]
    counts = names if is_end else [names[of_command.value]]
    peers = [of_bits(place) for place in range(8)]
    may_get = [one["enable"] and any(one[name] for name in counts) for one in peers]

    async def bench(channel):
        command = {"kind": of_command.value}
        for mask in (0xFF, 0b10101010, *(1 << place for place in range(8))):
            channel.program(changed(peers=peers, ranges_0={"peers": mask}, commands_0=command))
            await channel.cycle({"stores": store(3, kind=kind)})
            left = [(await channel.cycle())[0].get("link_out") for _ in range(20)]
            allowed = sum(
                1 << place for place, may in enumerate(may_get) if may and mask >> place & 1
            )
            assert [to(one) for one in left if one is not None] == receivers(allowed)

    simulate(TIMING, bench)


def test_the_context_is_busy_until_the_last_copy():
    async def bench(channel):
        channel.program(changed(peers=PEERS, ranges_0={"peers": 0xFF}))
        await channel.cycle({"stores": store(3)})
        for sent in range(9):
            for _ in range(6):
                assert not await _is_idle(channel) or sent == 8
            if sent < 8:
                assert list((await channel.cycle())[0]) == ["link_out"]
        assert await _is_idle(channel)

    async def _is_idle(channel):
        await channel.cycle(taken=ALL - {"link_out"})
        return channel.ctx.get(channel.dut.idle) & 1

    simulate(TIMING, bench)


class Merge:
    """Driver of a link merge: offers packets of each context and source in order, and records what
    leaves. A packet's atom is its number."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.waiting = {(source, number): [] for source in SOURCES for number in range(2)}
        self.sent = [[], []]  # per context: number of the packet, and its receiver
        self.aborting = [0, 0]

    async def cycle(self, space=3, ready=1):
        ctx, dut = self.ctx, self.dut
        tables = [{"aborting": one, "rank": 9, "peers": self._peers()} for one in self.aborting]
        ctx.set(dut.tables, dut.tables.shape().const(tables))
        ctx.set(dut.space, space)
        ctx.set(dut.o.ready, ready)
        for (source, number), packets in self.waiting.items():
            port = getattr(dut, source)[number]
            ctx.set(port.valid, bool(packets))
            if packets:
                atom, peers = packets[0]
                ctx.set(port.p, {"atom": atom, "peers": peers})
        for (source, number), packets in self.waiting.items():
            if packets and ctx.get(getattr(dut, source)[number].ready):
                packets.pop(0)
        if ready and ctx.get(dut.o.valid):
            owner, packet = ctx.get(dut.o.p.owner), ctx.get(dut.o.p.packet)
            assert packet["source"] == 9
            assert space >> owner & 1 and not self.aborting[owner]
            self.sent[owner].append((packet["atom"], to(packet)))
        await ctx.tick()

    @staticmethod
    def _peers():
        return [{name: one[name] for name in ("gpu", "space", *PERMISSIONS)} for one in PEERS]


def run(bench):
    dut = LinkMerge(P)

    async def drive(ctx):
        await bench(Merge(ctx, dut))

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()


def test_copies_stay_together():
    """Random packets of both sources of both contexts, over a link that stops at random: each one
    leaves as the copies of its mask, and no packet of its context comes between them."""
    seed = 0xC0B1E5
    print(f"seed {seed}")
    rng = random.Random(seed)
    offered = {}

    async def bench(merge):
        for step in range(3000):
            for place, packets in merge.waiting.items():
                if len(packets) < 3 and rng.random() < 0.2:
                    mask = rng.choice([0, 1 << rng.randrange(8), rng.getrandbits(8)])
                    number = len(offered)
                    offered[number] = place, mask
                    packets.append((number, mask))
            calm = step // 100 % 2
            space = 3 if calm else rng.getrandbits(2)
            await merge.cycle(space, 1 if calm else rng.getrandbits(1))
        while any(merge.waiting.values()):
            await merge.cycle()
        for number, sent in enumerate(merge.sent):
            mine = {atom: mask for atom, ((_, owner), mask) in offered.items() if owner == number}
            order = list(dict.fromkeys(atom for atom, _ in sent))
            assert sent == [(atom, one) for atom in order for one in receivers(mine[atom])]
            assert set(order) == {atom for atom, mask in mine.items() if mask}
            for source in SOURCES:
                of_source = [atom for atom in order if offered[atom][0][0] == source]
                assert of_source == sorted(of_source) and len(of_source) > 50

    run(bench)


def test_sources_take_turns():
    """A packet with many copies is one turn."""

    async def bench(merge):
        for number in range(2):
            for place, source in enumerate(SOURCES):
                packets = [(4 * index + 2 * place + number, 0b10110) for index in range(10)]
                merge.waiting[source, number] = packets
        for _ in range(120):
            await merge.cycle()
        for number, sent in enumerate(merge.sent):
            order = list(dict.fromkeys(atom for atom, _ in sent))
            assert order == [2 * index + number for index in range(20)]
            assert len(sent) == 60

    run(bench)


@pytest.mark.parametrize("source", SOURCES)
def test_a_packet_that_comes_between_two_copies(source):
    """The other source does not go ahead, although it has its turn."""
    (other,) = set(SOURCES) - {source}

    async def bench(merge):
        for first in (1, 3):
            merge.waiting[source, 0] = [(first, 0b111)]
            await merge.cycle()
            merge.waiting[other, 0] = [(first + 1, 0b1)]
            await merge.cycle(ready=0)
            for _ in range(3):
                await merge.cycle()
        assert [atom for atom, _ in merge.sent[0]] == [1, 1, 1, 2, 3, 3, 3, 4]

    run(bench)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("copies", [0, 1, 2, 3])
def test_an_abort_between_two_copies(source, copies):
    """The abort drops the rest of the packet; the next packet gets all of its copies."""
    (other,) = set(SOURCES) - {source}

    async def bench(merge):
        merge.waiting[source, 0] = [(1, 0b1110)]
        for _ in range(copies):
            await merge.cycle()
        merge.aborting[0] = 1
        merge.waiting[other, 0] = [(2, 0b1)]
        for _ in range(3):
            await merge.cycle(space=0, ready=0)
        assert not merge.waiting[source, 0] and not merge.waiting[other, 0]
        merge.aborting[0] = 0
        merge.waiting[source, 0] = [(3, 0b1010)]
        merge.waiting[other, 0] = [(4, 0b110)]
        for _ in range(6):
            await merge.cycle()
        assert merge.sent[0][:copies] == [(1, one) for one in receivers(0b1110)[:copies]]
        rest = [(3, one) for one in receivers(0b1010)], [(4, one) for one in receivers(0b110)]
        assert merge.sent[0][copies:] in (rest[0] + rest[1], rest[1] + rest[0])

    run(bench)


def test_a_packet_without_peers():
    """The packet is dropped, even while the link takes nothing."""

    async def bench(merge):
        for number in range(2):
            for source in SOURCES:
                merge.waiting[source, number] = [(1, 0), (2, 0)]
        for _ in range(4):
            await merge.cycle(space=0, ready=0)
        assert not any(merge.waiting.values())
        assert merge.sent == [[], []]

    run(bench)
