"""Actions and destinations of stores."""

import pytest

from rtl.interface.encodings import Access, Datatype, ErrorCode, Operation, PacketKind, StoreKind
from rtl.interface.layouts import LinkPacket
from tb.golden import peer
from tests.support.channel_bench import ALL, OFFSET, SLOT, TIMING, changed, has, simulate, store


@pytest.mark.parametrize(
    ("request_", "port", "fields"),
    [
        # Outside every region, or of another address space: an ordinary write.
        (store(0, atom=999), "dram", {"access": Access.WRITE, "atom": 999, "dispatch_index": 0}),
        (store(0, atom=2000), "dram", {"access": Access.WRITE, "atom": 2000}),
        (store(0, context=2), "dram", {"access": Access.WRITE, "wavefront": 0}),
        (store(50), "dram", {"access": Access.WRITE}),
        (store(41), "dram", {"access": Access.WRITE}),
        (store(0), "link_out", {"atom": 11500, "context": 5, "slot": SLOT, "wavefront": 3}),
        (store(0), "link_out", {"destination": 40, "source": 3}),
        (store(0, atom=3000, context=2), "link_out", {"destination": 2, "source": 100}),
        (store(5), "link_out", {"slot": 0}),
        (store(0, atom=3000, context=2), "link_out", {"atom": 0, "kind": PacketKind.STORE}),
        (store(19, atom=3499, context=2), "link_out", {"atom": 499, "context": 8, "slot": 28}),
        (store(12), "dram", {"access": Access.UPDATE, "dispatch_index": 12, "op": Operation.MIN}),
        (store(33), "dram", {"dispatch_index": 33, "dtype": Datatype.BF16}),
        (store(11), None, ErrorCode.STORE_LATE),
        (store(35), None, ErrorCode.STORE_AHEAD),
        (
            store(12, kind=StoreKind.END_OF_TILE),
            "end_of_tile_markers",
            {"dispatch_index": 12, "tile_atoms": 9, "shares": 5, "total": 2},
        ),
        (
            store(33, kind=StoreKind.END_OF_TILE, tile_atoms=0, shares=0),
            "end_of_tile_markers",
            {"dispatch_index": 33, "tile_atoms": 0, "shares": 0, "total": 63},
        ),
        (store(11, kind=StoreKind.END_OF_TILE), None, ErrorCode.STORE_LATE),
        (store(35, kind=StoreKind.END_OF_TILE), None, ErrorCode.STORE_AHEAD),
        # A marker of a tile that leaves: an END packet if the command marks its tiles.
        (
            store(0, kind=StoreKind.END_OF_TILE),
            "link_out",
            {
                "kind": PacketKind.END,
                "atom": 9 | 1 << 10 | 5 << 12,
                "slot": SLOT,
                "context": 5,
                "wavefront": 3,
            },
        ),
        (
            store(5, kind=StoreKind.END_OF_TILE, tile_atoms=1023, inner_edge=1, shares=63),
            "link_out",
            {"kind": PacketKind.END, "atom": (1 << 18) - 1, "slot": 0},
        ),
        (store(0, atom=3000, context=2, kind=StoreKind.END_OF_TILE), None, None),
        (store(0, kind=StoreKind.END_OF_TILE, atom=5), None, None),
    ],
)
def test_stores(request_, port, fields):
    async def bench(channel):
        await channel.cycle({"stores": request_})
        left, errors = await channel.drain()
        if port is None:
            assert left == []
            assert errors == ([fields] if fields else [])
        else:
            assert errors == []
            ((got, item),) = left
            assert got == port
            assert has(item, fields)

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    ("tables", "cycle", "differs"),
    [
        # The channel reads the location in the cycle in which it takes the store, the range in the
        # next cycle, and the packet's fields of the range and of the command in the one after it;
        # then those of the peers.
        (changed(regions_0={"enable": 0}), 0, True),
        (changed(regions_0={"enable": 0}), 1, False),
        (changed(address_space={"local": 3}), 0, True),
        (changed(address_space={"local": 3}), 1, False),
        (changed(launch={"workgroups": 9}), 0, True),
        (changed(launch={"workgroups": 9}), 1, False),
        (changed(ranges_0={"enable": 0}), 1, True),
        (changed(ranges_0={"enable": 0}), 2, False),
        (changed(commands_0={"op": Operation.SUM}), 1, True),
        (changed(commands_0={"op": Operation.SUM}), 2, False),
        (changed(commands_0={"atom_offset": 7}), 2, True),
        (changed(commands_0={"atom_offset": 7}), 3, False),
        (changed(commands_0={"kind": PacketKind.STORE.value}), 2, True),
        (changed(commands_0={"kind": PacketKind.STORE.value}), 3, False),
        (changed(ranges_0={"command": 1}), 2, True),
        (changed(ranges_0={"command": 1}), 3, False),
        (changed(ranges_0={"peers": 2}), 2, True),
        (changed(ranges_0={"peers": 2}), 3, False),
        (changed(ranges_0={"slot_offset": OFFSET - 1}), 2, True),
        (changed(ranges_0={"slot_offset": OFFSET - 1}), 3, False),
        (changed(peers_0={"gpu": 9}), 4, True),
        (changed(peers_0={"gpu": 9}), 5, False),
        (changed(peers_0={"space": 9}), 4, True),
        (changed(peers_0={"space": 9}), 5, False),
        (changed(rank=7), 4, True),
        (changed(rank=7), 5, False),
        (changed(peers_0={"enable": 0}), 4, True),
        (changed(peers_0={"enable": 0}), 5, False),
        (changed(peers_0={"sends_updates": 0}), 4, True),
        (changed(peers_0={"sends_updates": 0}), 5, False),
        # The permissions of other kinds, and the other peers, do not matter.
        (changed(peers_0={"sends_stores": 0, "takes_updates": 0, "rank": 9}), 0, False),
        (changed(peers_1={"gpu": 9, "space": 9}), 0, False),
        # Tables of the other context never matter.
        (changed(1, regions_0={"enable": 0}, launch={"workgroups": 9}, rank=7), 0, False),
        (changed(1, peers_0={"gpu": 9, "space": 9}, commands_3={"atom_offset": 7}), 0, False),
    ],
)
def test_tables_change_under_a_store(tables, cycle, differs):
    async def bench(channel):
        left = []
        for step in range(12):
            offered = {"stores": store(9)} if step == 0 else {}
            if step >= cycle:
                channel.program(tables)
            left += (await channel.cycle(offered))[0].items()
        plain = {"slot": 4, "wavefront": 3, "kind": PacketKind.UPDATE, "context": 5}
        plain |= {"atom": 11500, "op": Operation.MAX, "dtype": Datatype.BF16}
        plain |= {"destination": 40, "source": 3}
        assert (left != [("link_out", LinkPacket(TIMING).const(plain))]) == differs

    simulate(TIMING, bench)


@pytest.mark.parametrize("marks", [0, 1])
@pytest.mark.parametrize("kind", [PacketKind.STORE, PacketKind.UPDATE])
def test_kind_of_the_packets_of_remote_stores(kind, marks):
    """The receiver tracks the stores of a command that marks tiles; a peer gets them as stores."""
    tracked = PacketKind.PLACE if marks and kind is PacketKind.STORE else kind

    async def bench(channel):
        for stores, updates in ((1, 0), (0, 1)):
            peers = [peer(gpu=40, sends_stores=stores, sends_updates=updates)]
            own = {"marks": marks, "kind": kind.value}
            channel.program(changed(commands_0=own, peers=peers))
            await channel.cycle({"stores": store(0)})
            left, errors = await channel.drain()
            sent = updates if kind is PacketKind.UPDATE else stores
            assert [item["kind"] for _, item in left] == [tracked] * sent
            assert not errors

    simulate(TIMING, bench)


@pytest.mark.parametrize("cycle", [1, 2, 3])
@pytest.mark.parametrize("marks", [0, 1])
def test_marks_change_under_a_marker(marks, cycle):
    """A marker leaves as an END packet by the command of the cycle in which a packet is made."""

    async def bench(channel):
        left = []
        for step in range(12):
            offered = {"stores": store(9, kind=StoreKind.END_OF_TILE)} if step == 0 else {}
            now = marks if step >= cycle else 1 - marks
            # The command's kind and offset are those of packets with data.
            own = {"marks": now, "kind": PacketKind.STORE.value, "atom_offset": 7}
            channel.program(changed(commands_0=own))
            ports, errors = await channel.cycle(offered)
            assert not errors
            left += ports.items()
        assert len(left) == (marks if cycle <= 2 else 1 - marks)
        for port, item in left:
            assert port == "link_out"
            assert has(item, {"kind": PacketKind.END, "atom": 9 | 1 << 10 | 5 << 12})

    simulate(TIMING, bench)


@pytest.mark.parametrize("marks", [0, 1])
def test_a_marker_that_finds_its_queue_full(marks):
    """The marker is refused like any store that leaves; one that is dropped needs no space."""
    taken = ALL - {"link_out"}

    async def bench(channel):
        channel.program(changed(commands_0={"marks": marks}))
        channel.link_space = 2
        for _ in range(TIMING.remote_depth):
            for step in range(3):
                await channel.cycle({"stores": store(0)} if step == 0 else {}, taken)
        codes, seen = [], []
        for request in (store(0, kind=StoreKind.END_OF_TILE), store(0, atom=999)):
            for step in range(8):
                left, errors = await channel.cycle({"stores": request} if step == 0 else {}, taken)
                seen += left
                codes += errors
        assert seen == ["dram"]
        assert codes == [ErrorCode.STORE_AHEAD] * marks

    simulate(TIMING, bench)


def test_packet_of_an_address_that_carries():
    """Carries through every block of the sum, and beyond the address space."""

    async def bench(channel):
        for offset in (2**35 - 1500, 2**12 - 1500, 2**24 - 1500, 2**24 - 1501, 2**35 - 1):
            channel.program(changed(commands_0={"atom_offset": offset}))
            await channel.cycle({"stores": store(0)})
            ((_, packet),) = (await channel.drain())[0]
            assert packet["atom"] == (1500 + offset) % 2**35

    simulate(TIMING, bench)


def test_stores_that_leave_without_space():
    """A store that finds its full queue is dropped and reported while the link has no space for its
    context; others pass, and their errors are reported, too."""
    stale = store(12) | {"generation": 3}
    taken = ALL - {"link_out"}

    async def bench(channel):
        channel.link_space = 2
        codes, seen = [], []

        async def offer(**offered):
            ready = all(channel.model.ready(name) for name in offered)
            left, errors = await channel.cycle(offered, taken)
            seen.extend(left)
            codes.extend(errors)
            return ready

        others = [stale, store(0, atom=999), store(43), *[store(0)] * 3]
        for number in range(60):
            while not await offer(stores=store(0) if number < 40 else others[number % 6]):
                pass
        for _ in range(10):
            await offer()
        most = TIMING.remote_depth
        leaving = 40 + sum(number % 6 > 2 for number in range(40, 60))
        assert codes.count(ErrorCode.STORE_AHEAD) == leaving - most
        assert codes.count(ErrorCode.STORE_STALE) == len(codes) - leaving + most > 0
        assert seen.count("dram") == sum(number % 6 in (1, 2) for number in range(40, 60))
        channel.link_space = 3
        left, _ = await channel.drain(60)
        assert len([one for one in left if one[0] == "link_out"]) == most

    simulate(TIMING, bench)


def test_space_for_stores_that_leave():
    """``store_space`` is high exactly as long as eight more stores fit: with the link stopped, a
    ninth one holds up the ordinary stores behind it."""
    taken = ALL - {"link_out"}

    async def bench(channel):
        async def passes(**offered):
            """Return whether an access reaches the DRAM."""
            seen = []
            for step in range(8):
                ports, _ = await channel.cycle(offered if step == 0 else {}, taken)
                seen += ports
            return seen == ["dram"]

        while channel.ctx.get(channel.dut.store_space) & 1:
            assert not await passes(stores=store(0))
        # The first of the eight stores has cleared ``store_space``.
        for _ in range(7):
            assert not await passes(stores=store(0))
            assert await passes(stores=store(0, atom=999))
        assert channel.ctx.get(channel.dut.store_space) == 2
        await passes(stores=store(0))
        assert not await passes(stores=store(0, atom=999))
        await channel.drain(60)
        assert channel.ctx.get(channel.dut.store_space) == 3

    simulate(TIMING, bench)
