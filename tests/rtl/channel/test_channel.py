import pytest
from channel_bench import ALL, CONTEXTS, TIMING, changed, packet, simulate, store

from rtl.channel.channel import Channel
from rtl.interface.encodings import (
    Access,
    Datatype,
    ErrorCode,
    Operation,
    Origin,
    PacketKind,
    StoreKind,
)
from rtl.interface.layouts import LinkPacket
from tb.golden import EVERY_PACKET


def has(payload, fields):
    """Whether a payload that left has these values."""
    return all(payload[name] == value for name, value in fields.items())


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not 'x'"):
        Channel("x")


@pytest.mark.parametrize(
    ("request_", "port", "fields"),
    [
        # Outside every region, or of another address space: an ordinary write.
        (store(17, atom=999), "dram", {"access": Access.WRITE, "atom": 999, "dispatch_index": 0}),
        (store(17, atom=2000), "dram", {"access": Access.WRITE, "atom": 2000}),
        (store(17, context=2), "dram", {"access": Access.WRITE, "wavefront": 0}),
        (store(50), "dram", {"access": Access.WRITE}),
        (store(8), "dram", {"access": Access.WRITE}),
        (store(17), "link_out", {"atom": 11500, "context": 5, "workgroup": 17, "wavefront": 3}),
        (store(17, atom=3000, context=2), "link_out", {"atom": 0, "kind": PacketKind.STORE}),
        (store(29), "dram", {"access": Access.UPDATE, "dispatch_index": 12, "op": Operation.MIN}),
        (store(0), "dram", {"access": Access.UPDATE, "dispatch_index": 33, "dtype": Datatype.BF16}),
        (store(28), None, ErrorCode.STORE_LATE),
        (store(2), None, ErrorCode.STORE_AHEAD),
        (
            store(29, kind=StoreKind.END_OF_TILE),
            "end_of_tile_markers",
            {"dispatch_index": 12, "tile_atoms": 9},
        ),
        (store(28, kind=StoreKind.END_OF_TILE), None, ErrorCode.STORE_LATE),
        (store(2, kind=StoreKind.END_OF_TILE), None, ErrorCode.STORE_AHEAD),
        (store(17, kind=StoreKind.END_OF_TILE), None, None),
        (store(17, kind=StoreKind.END_OF_TILE, atom=5), None, None),
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
    ("request_", "outcome"),
    [
        (packet(60, kind=PacketKind.STORE), {"access": Access.WRITE, "op": Operation.SUM}),
        (packet(60, kind=PacketKind.STORE, atom=2500), ErrorCode.PACKET_UNMAPPED),
        (packet(60, kind=PacketKind.STORE, context=3), ErrorCode.PACKET_UNMAPPED),
        (packet(29), {"access": Access.UPDATE, "dispatch_index": 12, "op": Operation.MIN}),
        (
            packet(1, op=Operation.SUM, dtype=Datatype.BF16),
            {"access": Access.UPDATE, "dispatch_index": 34, "wavefront": 6},
        ),
        # An upstream GPU that reduces something else would spoil the sum.
        (packet(29, op=Operation.MAX), ErrorCode.PACKET_MISMATCH),
        (packet(29, dtype=Datatype.BF16), ErrorCode.PACKET_MISMATCH),
        (packet(28, dtype=Datatype.BF16), ErrorCode.PACKET_MISMATCH),
        (packet(28), ErrorCode.PACKET_LATE),
        (packet(2, op=Operation.SUM, dtype=Datatype.BF16), ErrorCode.PACKET_AHEAD),
        (packet(17), ErrorCode.PACKET_UNMAPPED),
        (packet(29, context=2), ErrorCode.PACKET_UNMAPPED),
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
    ("request_", "table", "entry"),
    [
        (packet(29, source=5), "updates", 5),
        (packet(29, source=31), "updates", 31),
        (packet(60, kind=PacketKind.STORE, source=0), "stores", 0),
        (packet(60, kind=PacketKind.STORE, source=31), "stores", 31),
        (packet(29), "ops", Operation.MIN.value),
        (packet(29), "dtypes", Datatype.FP32.value),
    ],
)
def test_inbound_table(request_, table, entry):
    """A packet is dropped if its context does not take its kind from its source; without that one
    entry, which no other packet needs."""
    every, bit = EVERY_PACKET[table], 1 << entry

    async def bench(channel):
        for allowed in (bit, every & ~bit, every):
            channel.program(changed(inbound={table: allowed}))
            await channel.cycle({"link_in": request_})
            left, errors = await channel.drain()
            is_taken = bool(allowed & bit)
            assert errors == ([] if is_taken else [ErrorCode.PACKET_FORBIDDEN])
            assert [port for port, _ in left] == ["dram"] * is_taken

    simulate(TIMING, bench)


def test_inbound_table_of_each_context():
    """The other context's, and packets of no context, have nothing to do with it."""
    nothing = dict.fromkeys(EVERY_PACKET, 0)
    other = packet(60, atom=3000, context=2, kind=PacketKind.STORE)
    stranger = packet(60, context=3, kind=PacketKind.STORE)

    async def bench(channel):
        channel.program(changed(inbound=nothing))
        outcomes = []
        for request in (packet(29), other, stranger):
            await channel.cycle({"link_in": request})
            left, errors = await channel.drain()
            outcomes.append([port for port, _ in left] + errors)
        assert outcomes == [
            [ErrorCode.PACKET_FORBIDDEN],
            ["dram"],
            [ErrorCode.PACKET_UNMAPPED],
        ]

    simulate(TIMING, bench)


LATE, AHEAD = "late", "ahead"


def test_admission_in_a_launch_of_all_workgroups():
    """Limits have a bit more than dispatch indices: behind the last one is none."""
    cases = [
        (12, 12, 12, AHEAD),
        (12, 0, 1 << 16, None),
        (12, 0, (1 << 17) - 1, None),
        (12, 13, 1 << 16, LATE),
        (12, 1 << 16, 1 << 16, LATE),
        (0x8000, 0, 0x8000, AHEAD),
        (0x8000, 0x8000, 0x8001, None),
        (0x8000, 0x8001, 1 << 16, LATE),
        (0xFFFF, 0, 0xFFFF, AHEAD),
        (0xFFFF, 0xFFFF, 1 << 16, None),
        (0xFFFF, 1 << 16, 1 << 16, LATE),
    ]
    everything = changed(
        launch={"first_workgroup": 0, "workgroups": 1 << 16},
        ranges_0={"enable": 0},
        ranges_1={"first": 0, "last": 0xFFFF},
        ranges_2={"enable": 0},
    )

    async def bench(channel):
        channel.program(everything)
        for dispatch_index, oldest, limit, outcome in cases:
            offered = {"stores": store(dispatch_index), "link_in": packet(dispatch_index)}
            seen, errors = [], []
            for step in range(10):
                left, codes = await channel.cycle(offered if step == 0 else {}, ALL, oldest, limit)
                seen += [request["dispatch_index"] for request in left.values()]
                errors += codes
            assert errors == outcomes[outcome], (dispatch_index, oldest, limit)
            assert seen == ([] if outcome else [dispatch_index] * 2)

    outcomes = {
        None: [],
        LATE: [ErrorCode.STORE_LATE, ErrorCode.PACKET_LATE],
        AHEAD: [ErrorCode.STORE_AHEAD, ErrorCode.PACKET_AHEAD],
    }
    simulate(TIMING, bench)


def test_generation():
    """What is of no launch is dropped and reported; packets that only are to be written may be of
    the launch before as well. All four bits count."""
    before = {"valid": 1, "generation": 8}
    cases = [
        # Whether there is a launch, the one before, and the generation; then whether updates and
        # stores are taken, and whether packets that only are to be written are.
        (1, before, 9, True, True),
        (1, before, 8, False, True),
        (1, before, 1, False, False),
        (1, before, 0, False, False),
        (1, before, 13, False, False),
        (1, before | {"valid": 0}, 8, False, False),
        (1, {}, 0, False, False),
        (0, before, 9, False, False),
        (0, before, 8, False, True),
    ]

    async def bench(channel):
        for launched, former, generation, updates, writes in cases:
            contexts = changed(launch={"generation": 9}, former=former)
            contexts[0]["launched"] = launched
            channel.program(contexts)
            mine = {"generation": generation}
            copy = packet(60, kind=PacketKind.STORE, **mine)
            for port, request, is_taken, code in (
                ("stores", store(29, **mine), updates, ErrorCode.STORE_STALE),
                ("stores", store(17, **mine), updates, ErrorCode.STORE_STALE),
                ("stores", store(17, atom=999, **mine), True, None),
                ("link_in", packet(29, **mine), updates, ErrorCode.PACKET_STALE),
                ("link_in", copy, writes, ErrorCode.PACKET_STALE),
            ):
                await channel.cycle({port: request})
                left, errors = await channel.drain(6)
                assert errors == ([] if is_taken else [code]), (launched, former, generation)
                assert len(left) == is_taken

    simulate(TIMING, bench)


def test_room_for_stores_that_leave():
    """Told as long as eight more find room, and no longer: with the link stopped, a ninth one holds
    up the ordinary stores behind it."""
    taken = ALL - {"link_out"}

    async def bench(channel):
        async def passes(**offered):
            """Whether an access comes to the DRAM."""
            seen = []
            for step in range(8):
                ports, _ = await channel.cycle(offered if step == 0 else {}, taken)
                seen += ports
            return seen == ["dram"]

        while channel.ctx.get(channel.dut.stores_room) & 1:
            assert not await passes(stores=store(17))
        # The first of the eight has taken the room away.
        for _ in range(7):
            assert not await passes(stores=store(17))
            assert await passes(stores=store(17, atom=999))
        assert channel.ctx.get(channel.dut.stores_room) == 2
        await passes(stores=store(17))
        assert not await passes(stores=store(17, atom=999))
        await channel.drain(60)
        assert channel.ctx.get(channel.dut.stores_room) == 3

    simulate(TIMING, bench)


def test_packets_have_the_gpus_number():
    async def bench(channel):
        for number in (0, 7, 31):
            channel.model.state.gpu["number"] = number
            channel.ctx.set(channel.dut.number, number)
            await channel.cycle({"stores": store(17)})
            ((port, sent),) = (await channel.drain())[0]
            assert (port, sent["source"]) == ("link_out", number)

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    ("port", "item", "latency"),
    [
        ("reads", {"atom": 7, "tag": 9}, 2),
        ("link_in", packet(29), 3),
        ("stores", store(29), 4),
    ],
)
def test_latency(port, item, latency):
    """From the port to the port: through the queues and the arbiter, nothing else."""

    async def bench(channel):
        await channel.cycle({port: item})
        for _ in range(latency - 1):
            assert (await channel.cycle())[0] == {}
        assert list((await channel.cycle())[0]) == ["dram"]

    simulate(TIMING, bench)


def test_dropped_packets_and_stores_need_no_room():
    """With everything full behind them, the ones that are refused leave all the same."""

    async def bench(channel):
        good = {"link_in": packet(29), "stores": store(29)}
        for _ in range(30):
            await channel.cycle(good, taken=())
        # The heads have become late, and so has all that follows.
        for _ in range(4):
            _, errors = await channel.cycle(taken=(), base=13)
            assert errors == [ErrorCode.STORE_LATE, ErrorCode.PACKET_LATE]
        assert (await channel.cycle(taken=(), base=13))[1] == []

    simulate(TIMING, bench)


def test_incoming_updates_sink_with_the_link_blocked():
    async def bench(channel):
        got = 0
        for _ in range(60):
            offered = {"stores": store(17), "link_in": packet(29)}
            left, _ = await channel.cycle(offered, taken=ALL - {"link_out"})
            got += "dram" in left
        assert got == 60 - 3

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    ("tables", "cycle", "differs"),
    [
        # The location is of the cycle in which the store is taken, the range of the next one,
        # and what the packet gets of the command of the one after it.
        (changed(regions_0={"enable": 0}), 0, True),
        (changed(regions_0={"enable": 0}), 1, False),
        (changed(address_space={"local": 3}), 0, True),
        (changed(address_space={"local": 3}), 1, False),
        (changed(launch={"first_workgroup": 16}), 0, True),
        (changed(launch={"first_workgroup": 16}), 1, False),
        (changed(ranges_0={"enable": 0}), 1, True),
        (changed(ranges_0={"enable": 0}), 2, False),
        (changed(commands_0={"op": Operation.SUM}), 1, True),
        (changed(commands_0={"op": Operation.SUM}), 2, False),
        (changed(commands_0={"atom_offset": 7}), 2, True),
        (changed(commands_0={"atom_offset": 7}), 3, False),
        (changed(commands_0={"kind": PacketKind.STORE}), 2, True),
        (changed(commands_0={"kind": PacketKind.STORE}), 3, False),
        (changed(address_space={"remote": 9}), 2, True),
        (changed(address_space={"remote": 9}), 3, False),
        # Of the other context: never.
        (changed(1, regions_0={"enable": 0}, launch={"first_workgroup": 16}), 0, False),
        (changed(1, address_space={"remote": 9}, commands_3={"atom_offset": 7}), 0, False),
    ],
)
def test_tables_change_under_a_store(tables, cycle, differs):
    async def bench(channel):
        left = []
        for step in range(12):
            # Of the last dispatch index that leaves: with another first workgroup it does not.
            offered = {"stores": store(26)} if step == 0 else {}
            if step >= cycle:
                channel.program(tables)
            left += (await channel.cycle(offered))[0].items()
        plain = {"workgroup": 26, "wavefront": 3, "kind": PacketKind.UPDATE, "context": 5}
        plain |= {"atom": 11500, "op": Operation.MAX, "dtype": Datatype.BF16}
        assert (left != [("link_out", LinkPacket(TIMING).const(plain))]) == differs

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    ("port", "request_"),
    [
        *[("stores", store(workgroup)) for workgroup in (17, 29, 0)],
        # Those that would be errors without the abort, too.
        *[("stores", store(workgroup)) for workgroup in (28, 2)],
        ("stores", store(29, kind=StoreKind.END_OF_TILE)),
        ("link_in", packet(29)),
        ("link_in", packet(60, kind=PacketKind.STORE)),
        *[("link_in", packet(workgroup)) for workgroup in (28, 17, 60)],
        ("link_in", packet(29, op=Operation.MAX)),
    ],
)
@pytest.mark.parametrize("aborting", [1, 5])
def test_what_comes_during_an_abort_is_dropped(port, request_, aborting):
    """Also where the abort is over before it is known what it is."""

    async def bench(channel):
        channel.program(changed(aborting=1))
        for cycle in range(aborting):
            assert await channel.cycle({port: request_} if cycle == 0 else {}) == ({}, [])
        channel.program(CONTEXTS)
        assert await channel.drain() == ([], [])
        # One that comes after it is as ever.
        await channel.cycle({"stores": store(29)})
        ((got, _),), errors = await channel.drain()
        assert (got, errors) == ("dram", [])

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    ("port", "request_", "outcome"),
    [
        ("stores", store(17, atom=999), "dram"),
        ("stores", store(17, context=7), "dram"),
        ("stores", store(50), "dram"),
        ("reads", {"atom": 1500, "tag": 9}, "dram"),
        ("link_in", packet(60, atom=999, kind=PacketKind.STORE), ErrorCode.PACKET_UNMAPPED),
        # Of the other context.
        ("stores", store(17, atom=3000, context=2), "link_out"),
        ("stores", store(40, atom=3000, context=2), "dram"),
        ("stores", store(28, atom=3000, context=2), "link_out"),
        ("link_in", packet(60, atom=3000, context=2, kind=PacketKind.STORE), "dram"),
        ("link_in", packet(17, atom=3000, context=2), ErrorCode.PACKET_UNMAPPED),
    ],
)
def test_an_abort_is_of_one_context(port, request_, outcome):
    """What is of no region, or of the other context, is as ever."""

    async def bench(channel):
        channel.program(changed(aborting=1))
        await channel.cycle({port: request_})
        left, errors = await channel.drain()
        assert [got for got, _ in left] + errors == [outcome]

    simulate(TIMING, bench)


@pytest.mark.parametrize("blocked", [True, False])
def test_an_abort_drops_what_waits_for_the_link(blocked):
    """All but the two packets that the link's queue has taken; of the other context nothing."""
    requests = [store(17), store(17, atom=3000, context=2)] * 6

    async def bench(channel):
        taken = ALL - {"link_out"}
        for request in requests:
            assert await channel.cycle({"stores": request}, taken) == ({}, [])
        for _ in range(4):
            await channel.cycle(taken=taken)
        channel.program(changed(aborting=1))
        left = []
        for _ in range(12):
            ports, _ = await channel.cycle(taken=taken if blocked else ALL)
            left += ports.items()
        assert bool(left) != blocked
        channel.program(CONTEXTS)
        rest, errors = await channel.drain(40)
        left += rest
        assert not errors and {port for port, _ in left} == {"link_out"}
        remote = [packet["context"] for _, packet in left]
        assert remote[:2] == [5, 8] and remote[2:] == [8] * 5

    simulate(TIMING, bench)


def test_packet_of_an_address_that_carries():
    """Carries through every block of the sum, and beyond the address space."""

    async def bench(channel):
        for offset in (2**35 - 1500, 2**12 - 1500, 2**24 - 1500, 2**24 - 1501, 2**35 - 1):
            channel.program(changed(commands_0={"atom_offset": offset}))
            await channel.cycle({"stores": store(17)})
            ((_, packet),) = (await channel.drain())[0]
            assert packet["atom"] == (1500 + offset) % 2**35

    simulate(TIMING, bench)


def test_write_issue_acks_are_counted():
    async def bench(channel):
        write = {"access": Access.WRITE, "atom": 5, "dispatch_index": 0, "wavefront": 0}
        update = write | {"access": Access.UPDATE, "dispatch_index": 12}
        for _ in range(5):
            await channel.cycle({"issue_acks": write})
        assert channel.ctx.get(channel.dut.stored) == 5
        # Updates that nobody takes: eight events in the queue, and behind it what the buffer holds.
        # When that is full, it holds up everything.
        for number in range(8 + 2 + 128):
            tile = {"dispatch_index": 12 + number % 20, "wavefront": number // 20}
            await channel.cycle({"issue_acks": update | tile}, taken=())
        await channel.cycle(taken=())
        assert not channel.model.ready("issue_acks")
        await channel.cycle({"issue_acks": write}, taken=())
        await channel.cycle()
        assert channel.ctx.get(channel.dut.stored) == 5

    simulate(TIMING, bench)


def test_waiting_updates_of_a_tile_become_one():
    async def bench(channel):
        update = {"access": Access.UPDATE, "dispatch_index": 12, "wavefront": 3}
        for atom in (7, 9, 5, 8):
            await channel.cycle({"issue_acks": update | {"atom": atom}}, taken=())
        left = [ports["tile_issue_acks"] for ports, _ in [await channel.cycle() for _ in range(2)]]
        assert [(event["count"], event["atom"]) for event in left] == [(1, 7), (3, 5)]

    simulate(TIMING, bench)
