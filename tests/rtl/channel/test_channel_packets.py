"""Packets that arrive over the link."""

import pytest

from rtl.interface.encodings import (
    Access,
    Action,
    Datatype,
    ErrorCode,
    Operation,
    Origin,
    PacketKind,
    StoreKind,
)
from tb.golden import EVERY_KIND, peer
from tests.support.channel_bench import (
    ALL,
    TIMING,
    WORKGROUPS,
    changed,
    end,
    has,
    packet,
    simulate,
    store,
)

MARKERS, PLACE = "end_of_tile_markers", PacketKind.PLACE
NO_KIND = {"ops": 0, "dtypes": 0}
LEAVES = {"action": Action.REMOTE, "shares": 0}


@pytest.mark.parametrize(
    ("request_", "outcome"),
    [
        (packet(60, kind=PacketKind.STORE), {"access": Access.WRITE, "op": Operation.SUM}),
        (packet(60, kind=PacketKind.STORE, atom=2500), ErrorCode.PACKET_UNMAPPED),
        (packet(60, kind=PacketKind.STORE, context=3), ErrorCode.PACKET_UNMAPPED),
        (packet(12), {"access": Access.UPDATE, "dispatch_index": 12, "op": Operation.MIN}),
        (
            packet(34, op=Operation.SUM, dtype=Datatype.BF16),
            {"access": Access.UPDATE, "dispatch_index": 34, "wavefront": 6},
        ),
        # An upstream GPU with another reduction would corrupt the sum.
        (packet(12, op=Operation.MAX), ErrorCode.PACKET_MISMATCH),
        (packet(12, dtype=Datatype.BF16), ErrorCode.PACKET_MISMATCH),
        (packet(11, dtype=Datatype.BF16), ErrorCode.PACKET_MISMATCH),
        (packet(11), ErrorCode.PACKET_LATE),
        (packet(35, op=Operation.SUM, dtype=Datatype.BF16), ErrorCode.PACKET_AHEAD),
        (packet(0), ErrorCode.PACKET_UNMAPPED),
        # A tracked store is checked like an update, but for operation and type.
        (
            packet(12, kind=PLACE),
            {"access": Access.PLACE, "dispatch_index": 12, "wavefront": 6, "owner": 0},
        ),
        (packet(12, kind=PLACE, op=Operation.MAX), {"access": Access.PLACE}),
        (packet(12, kind=PLACE, dtype=Datatype.BF16), {"access": Access.PLACE}),
        (packet(20, kind=PLACE, atom=3100, context=2), {"access": Access.PLACE, "owner": 1}),
        (packet(11, kind=PLACE), ErrorCode.PACKET_LATE),
        (packet(35, kind=PLACE), ErrorCode.PACKET_AHEAD),
        (packet(0, kind=PLACE), ErrorCode.PACKET_UNMAPPED),
        (packet(60, kind=PLACE), ErrorCode.PACKET_UNMAPPED),
        (packet(12, kind=PLACE, atom=2500), ErrorCode.PACKET_UNMAPPED),
        (packet(12, kind=PLACE, generation=1), ErrorCode.PACKET_STALE),
        (packet(12, context=2), ErrorCode.PACKET_UNMAPPED),
        (packet(60), ErrorCode.PACKET_UNMAPPED),
    ],
)
def test_packets(request_, outcome):
    async def bench(channel):
        await channel.cycle({"link_in": request_})
        left, errors = await channel.drain()
        if isinstance(outcome, ErrorCode):
            assert (left, errors) == ([], [outcome])
        else:
            ((port, item),) = left
            assert (port, errors) == ("dram", [])
            assert has(item, {"origin": Origin.COMMUNICATION} | outcome)

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    ("request_", "outcome"),
    [
        (end(12), {"owner": 0, "dispatch_index": 12, "wavefront": 6, "total": 2}),
        (
            end(12, 1023, (1, 0), 63),
            {"tile_atoms": 1023, "outer_edge": 1, "inner_edge": 0, "shares": 63},
        ),
        (end(12, 0, (0, 0), 1), {"tile_atoms": 0, "inner_edge": 0, "outer_edge": 0, "shares": 1}),
        (end(34), {"dispatch_index": 34, "tile_atoms": 300, "shares": 33, "total": 63}),
        (end(20, context=2), {"owner": 1, "dispatch_index": 20, "total": 1}),
        # Operation and type mean nothing, and neither do the address's bits above the marker.
        (end(12, op=Operation.MAX, dtype=Datatype.FP16), {"dispatch_index": 12}),
        (end(12, atom=1 << 34 | 7 << 12 | 5), {"tile_atoms": 5, "shares": 7}),
        (end(12, shares=0), {"shares": 0}),  # which the tracker reports
        (end(11), ErrorCode.PACKET_LATE),
        (end(35), ErrorCode.PACKET_AHEAD),
        (end(0), ErrorCode.PACKET_UNMAPPED),
        (end(45), ErrorCode.PACKET_UNMAPPED),
        (end(60), ErrorCode.PACKET_UNMAPPED),
        (end(12, context=2), ErrorCode.PACKET_UNMAPPED),
        (end(12, context=3), ErrorCode.PACKET_UNMAPPED),
    ],
)
def test_end_packets(request_, outcome):
    async def bench(channel):
        await channel.cycle({"link_in": request_})
        left, errors = await channel.drain()
        if isinstance(outcome, ErrorCode):
            assert (left, errors) == ([], [outcome])
        else:
            ((port, item),) = left
            assert (port, errors) == (MARKERS, [])
            assert has(item, outcome)

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    ("tables", "request_", "outcome"),
    [
        # The range may be of any region, and of a disabled one.
        ({"regions_0": {"enable": 0}}, end(12), 2),
        ({"ranges_1": {"region": 3}}, end(12), 2),
        ({"ranges_1": {"region": 3}}, packet(12), ErrorCode.PACKET_UNMAPPED),
        # A range whose tiles are not tracked hides no other one.
        ({"ranges_0": {"last": 20}}, end(12), 2),
        ({"ranges_0": {"last": 20}}, packet(12), ErrorCode.PACKET_UNMAPPED),
        ({"ranges_0": {"last": 20, "action": Action.OWN, "shares": 9}}, end(12), 9),
        ({"ranges_1": LEAVES}, end(12), ErrorCode.PACKET_UNMAPPED),
        # Tiles arrive in the slots of a range whose stores leave if it has shares.
        ({"ranges_1": LEAVES}, packet(12), ErrorCode.PACKET_UNMAPPED),
        ({"ranges_1": LEAVES}, packet(12, kind=PLACE), ErrorCode.PACKET_UNMAPPED),
        ({"commands_1": {"waves": [6] * 4}}, packet(12, kind=PLACE), ErrorCode.PACKET_MISMATCH),
        ({"ranges_1": {"action": Action.REMOTE}}, end(12), 2),
        ({"ranges_1": {"action": Action.REMOTE, "shares": 63}}, end(12), 63),
        ({"ranges_0": {"last": 20, "shares": 1}}, end(12), 1),
        ({"commands_1": {"waves": [7, 6, 0, 0]}}, end(12), 2),
        ({"commands_1": {"waves": [6] * 4}}, end(12), ErrorCode.PACKET_MISMATCH),
        ({"commands_1": {"waves": [6] * 4}}, end(11), ErrorCode.PACKET_MISMATCH),
        ({"commands_1": {"waves": [6] * 4}}, end(60), ErrorCode.PACKET_UNMAPPED),
        ({"address_space": {"enable": 0}}, end(12), ErrorCode.PACKET_UNMAPPED),
        # An END packet has its owner's rights without a region, too.
        ({"regions_0": {"enable": 0}, "aborting": 1}, end(12), None),
        ({"aborting": 1}, end(60), None),
        (
            {"regions_0": {"enable": 0}, "launch": {"generation": 3}},
            end(60),
            ErrorCode.PACKET_STALE,
        ),
    ],
)
def test_the_range_of_an_end_packet(tables, request_, outcome):
    """The outcome is the total of its range, or the error."""

    async def bench(channel):
        channel.program(changed(**tables))
        await channel.cycle({"link_in": request_})
        left, errors = await channel.drain()
        if outcome is None:
            assert (left, errors) == ([], [])
        elif isinstance(outcome, ErrorCode):
            assert (left, errors) == ([], [outcome])
        else:
            ((port, item),) = left
            assert (port, item["total"], errors) == (MARKERS, outcome, [])

    simulate(TIMING, bench)


@pytest.mark.parametrize("shares", [0, 1, 63])
def test_tiles_arrive_while_stores_leave(shares):
    """A store of a range leaves. A packet's update and its marker in the slot of the same number
    are taken and counted if the range has shares, and refused without."""
    leaves = {"action": Action.REMOTE, "shares": shares}
    unmapped = [ErrorCode.PACKET_UNMAPPED]

    async def bench(channel):
        channel.program(changed(ranges_1=leaves))
        await channel.cycle({"stores": store(12)})
        left, errors = await channel.drain()
        assert [port for port, _ in left] == ["link_out"] and not errors
        await channel.cycle({"link_in": packet(12)})
        left, errors = await channel.drain()
        if shares:
            ((port, item),) = left
            assert (port, errors) == ("dram", [])
            assert has(item, {"access": Access.UPDATE, "dispatch_index": 12, "op": Operation.MIN})
        else:
            assert (left, errors) == ([], unmapped)
        await channel.cycle({"link_in": end(12)})
        left, errors = await channel.drain()
        if shares:
            ((port, item),) = left
            assert (port, errors) == (MARKERS, [])
            assert has(item, {"dispatch_index": 12, "total": shares, "tile_atoms": 300})
        else:
            assert (left, errors) == ([], unmapped)

    simulate(TIMING, bench)


@pytest.mark.parametrize("tracked_end", [WORKGROUPS, WORKGROUPS + 9, WORKGROUPS + 10, 1 << 16])
def test_slots_beyond_the_workgroups(tracked_end):
    """Packets arrive in tracked slots that are no dispatch index of the kernel."""
    slot = WORKGROUPS + 9
    beyond = {"first": WORKGROUPS, "last": 0xFFFF, "action": Action.REMOTE, "shares": 1}
    tables = changed(ranges_1=beyond, launch={"tracked_end": tracked_end})

    async def bench(channel):
        channel.program(tables)
        for request, port in ((packet(slot), "dram"), (end(slot), MARKERS)):
            await channel.cycle({"link_in": request}, limit=1 << 16)
            left, errors = [], []
            for _ in range(20):
                ports, codes = await channel.cycle(limit=1 << 16)
                left += ports.items()
                errors += codes
            if tracked_end <= slot:
                assert (left, errors) == ([], [ErrorCode.PACKET_UNMAPPED])
            else:
                assert [name for name, _ in left] == [port] and not errors
                assert left[0][1]["dispatch_index"] == slot

    simulate(TIMING, bench)


@pytest.mark.parametrize("place", [0, 7])
def test_peer_of_an_end_packet(place):
    """A marker belongs to updates or to stores of its source, whatever their kinds."""

    async def bench(channel):
        for updates in (0, 1):
            for stores in (0, 1):
                peers = [peer(rank=9)] * 8
                peers[place] = peer(rank=77, takes_stores=stores, takes_updates=updates)
                channel.program(changed(inbound=NO_KIND, peers=peers))
                await channel.cycle({"link_in": end(12, source=77)})
                left, errors = await channel.drain()
                is_taken = bool(updates | stores)
                assert errors == ([] if is_taken else [ErrorCode.PACKET_FORBIDDEN])
                assert [port for port, _ in left] == [MARKERS] * is_taken
        # Every other source.
        peers = [peer(rank=77 ^ 1 << bit) for bit in range(7)]
        channel.program(changed(peers=peers))
        await channel.cycle({"link_in": end(60, source=77)})
        assert await channel.drain() == ([], [ErrorCode.PACKET_FORBIDDEN])

    simulate(TIMING, bench)


@pytest.mark.parametrize("slot", [13, 11], ids=["taken", "dropped"])
def test_markers_of_stores_and_packets_take_turns(slot):
    """Neither side waits for more than one of the other's, even if the packets are dropped."""
    stores, packets = store(12, kind=StoreKind.END_OF_TILE), end(slot)

    async def bench(channel):
        seen = []
        offered = {"stores": stores, "link_in": packets}
        for _ in range(40):
            left, errors = await channel.cycle(offered)
            seen += [item["dispatch_index"] for item in left.values()]
            seen += [11] * errors.count(ErrorCode.PACKET_LATE)
        both = seen[2:]  # until both ways are full
        assert len(both) >= 33
        assert {both[index] for index in range(0, len(both), 2)} in ({12}, {slot})
        assert {both[index] for index in range(1, len(both), 2)} in ({12}, {slot})
        assert set(both) == {12, slot}

    simulate(TIMING, bench)


@pytest.mark.parametrize("slot", [13, 11, 60])
def test_an_end_packet_waits_for_the_tracker(slot):
    """Also one that is dropped: with ``ends`` full it stays in ``inbound``, and is reported once
    it leaves. Updates ahead of it pass."""
    busy = ALL - {MARKERS}

    async def bench(channel):
        for _ in range(2):
            await channel.cycle({"stores": store(12, kind=StoreKind.END_OF_TILE)}, busy)
        for _ in range(6):
            assert await channel.cycle(taken=busy) == ({}, [])
        seen = []
        for request in (packet(12), end(slot), packet(12)):
            seen += (await channel.cycle({"link_in": request}, busy))[0]
        for _ in range(10):
            left, errors = await channel.cycle(taken=busy)
            assert not errors
            seen += left
        assert seen == ["dram"]
        left, errors = await channel.drain()
        assert [port for port, _ in left].count("dram") == 1
        markers = [item["dispatch_index"] for port, item in left if port == MARKERS]
        assert markers == [12, 12] + [13] * (slot == 13)
        assert len(errors) == (slot != 13)

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    ("request_", "table", "entry"),
    [
        (packet(12), "ops", Operation.MIN.value),
        (packet(12), "dtypes", Datatype.FP32.value),
    ],
)
def test_inbound_table(request_, table, entry):
    """A packet is dropped if the table of its context lacks the entry for it, and needs no other
    entry."""
    every, bit = EVERY_KIND[table], 1 << entry

    async def bench(channel):
        for allowed in (bit, every & ~bit, every):
            channel.program(changed(inbound={table: allowed}))
            await channel.cycle({"link_in": request_})
            left, errors = await channel.drain()
            is_taken = bool(allowed & bit)
            assert errors == ([] if is_taken else [ErrorCode.PACKET_FORBIDDEN])
            assert [port for port, _ in left] == ["dram"] * is_taken

    simulate(TIMING, bench)


UPDATE, COPY = packet(12, source=77), packet(60, kind=PacketKind.STORE, source=77)
TRACKED = packet(12, kind=PLACE, source=77)


@pytest.mark.parametrize(
    ("request_", "peers", "is_taken"),
    [
        (UPDATE, [], False),
        (UPDATE, [peer(rank=77)], True),
        (UPDATE, [*[peer(rank=9)] * 7, peer(rank=77)], True),
        (UPDATE, [peer(rank=77, enable=0)], False),
        (UPDATE, [peer(rank=77 ^ 1 << bit) for bit in range(7)], False),
        (UPDATE, [peer(rank=77, takes_updates=0)], False),
        (UPDATE, [peer(rank=77, takes_stores=0)], True),
        (COPY, [peer(rank=77, takes_updates=0)], True),
        (COPY, [peer(rank=77, takes_stores=0)], False),
        (TRACKED, [peer(rank=77, takes_updates=0)], True),
        (TRACKED, [peer(rank=77, takes_stores=0)], False),
        # The kinds of packets that leave to the peer, and its address, do not matter.
        (UPDATE, [peer(rank=77, sends_updates=0, sends_stores=0, gpu=3, space=4)], True),
        # Another peer's rights do not count; two entries of one GPU add up.
        (UPDATE, [peer(rank=77, takes_updates=0), peer(rank=9)], False),
        (UPDATE, [peer(rank=77, takes_updates=0), peer(rank=77, takes_stores=0)], True),
        (UPDATE, [peer(rank=77, takes_updates=0), peer(rank=77, enable=0)], False),
    ],
)
def test_peers_that_may_send(request_, peers, is_taken):
    """A packet is accepted if an enabled peer has its source as rank and its kind is taken."""

    async def bench(channel):
        channel.program(changed(peers=peers))
        await channel.cycle({"link_in": request_})
        left, errors = await channel.drain()
        assert errors == ([] if is_taken else [ErrorCode.PACKET_FORBIDDEN])
        assert [port for port, _ in left] == ["dram"] * is_taken

    simulate(TIMING, bench)


def test_inbound_table_of_each_context():
    """A context's table affects neither packets of the other context nor packets of no context."""
    other = packet(60, atom=3000, context=2, kind=PacketKind.STORE)
    stranger = packet(60, context=3, kind=PacketKind.STORE)

    async def bench(channel):
        channel.program(changed(inbound=NO_KIND, peers=[]))
        outcomes = []
        for request in (packet(12), other, stranger):
            await channel.cycle({"link_in": request})
            left, errors = await channel.drain()
            outcomes.append([port for port, _ in left] + errors)
        assert outcomes == [
            [ErrorCode.PACKET_FORBIDDEN],
            ["dram"],
            [ErrorCode.PACKET_UNMAPPED],
        ]

    simulate(TIMING, bench)


def test_incoming_updates_sink_with_the_link_blocked():
    async def bench(channel):
        got = 0
        for _ in range(60):
            offered = {"stores": store(0), "link_in": packet(12)}
            left, _ = await channel.cycle(offered, taken=ALL - {"link_out"})
            got += "dram" in left
        assert got == 60 - 3

    simulate(TIMING, bench)
