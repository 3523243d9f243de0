import pytest
from amaranth.sim import Simulator
from channel_bench import ALL, DATA, TIMING, packet, simulate, store
from channel_reference import FIRST, REGIONS, TABLES, WORKGROUPS

from rtl.channel.channel import Channel
from rtl.interface.encodings import (
    Access,
    Datatype,
    ErrorCode,
    Operation,
    Origin,
    PacketKind,
    Policy,
    StoreKind,
)
from rtl.interface.layouts import (
    NmcRequest,
    Packet,
    Segment,
)


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not 'x'"):
        Channel("x")


@pytest.mark.parametrize(
    ("request_", "port", "fields"),
    [
        # Outside every region, or of another context: an ordinary write.
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
            assert fields.items() <= item.items()

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    ("request_", "outcome"),
    [
        (packet(60, kind=PacketKind.STORE), {"access": Access.WRITE, "op": Operation.SUM}),
        (packet(60, kind=PacketKind.STORE, atom=2500), ErrorCode.PACKET_UNMAPPED),
        (packet(60, kind=PacketKind.STORE, context=3), ErrorCode.PACKET_UNMAPPED),
        (packet(29), {"access": Access.UPDATE, "dispatch_index": 12, "op": Operation.MAX}),
        (packet(1), {"access": Access.UPDATE, "dispatch_index": 34, "wavefront": 6}),
        (packet(28), ErrorCode.PACKET_LATE),
        (packet(2), ErrorCode.PACKET_AHEAD),
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
            assert item["origin"] == Origin.COMMUNICATION
            assert outcome.items() <= item.items()

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
            # The store's is reported.
            assert errors == [ErrorCode.STORE_LATE]
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


def changed(table, index, **fields):
    """The tables with one entry changed."""
    entries = list(TABLES[table])
    entries[index] = entries[index] | fields
    return TABLES | {table: entries}


@pytest.mark.parametrize(
    ("tables", "cycle", "differs"),
    [
        # The location is of the cycle in which the store is taken, the range of the next one,
        # and what the packet gets of the command of the one after it.
        (changed("regions", 0, enable=0), 0, True),
        (changed("regions", 0, enable=0), 1, False),
        (TABLES | {"first_workgroup": 16}, 0, True),
        (TABLES | {"first_workgroup": 16}, 1, False),
        (changed("ranges", 0, enable=0), 1, True),
        (changed("ranges", 0, enable=0), 2, False),
        (changed("commands", 0, op=Operation.SUM), 1, True),
        (changed("commands", 0, op=Operation.SUM), 2, False),
        (changed("commands", 0, atom_offset=7), 2, True),
        (changed("commands", 0, atom_offset=7), 3, False),
        (changed("commands", 0, context=9, kind=PacketKind.STORE), 2, True),
        (changed("commands", 0, context=9, kind=PacketKind.STORE), 3, False),
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
        assert (left != [("link_out", plain)]) == differs

    simulate(TIMING, bench)


def test_packet_of_an_address_that_carries():
    """Carries through every block of the sum, and beyond the address space."""
    command = TABLES["commands"][0]

    async def bench(channel):
        for offset in (2**35 - 1500, 2**12 - 1500, 2**24 - 1500, 2**24 - 1501, 2**35 - 1):
            commands = [command | {"atom_offset": offset}, *TABLES["commands"][1:]]
            channel.program(TABLES | {"commands": commands})
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
        assert channel.reference.stored == 5
        # Updates that nobody takes: eight events in the queue, and behind it what the buffer holds.
        # When that is full, it holds up everything.
        for number in range(8 + 2 + 128):
            tile = {"dispatch_index": 12 + number % 20, "wavefront": number // 20}
            await channel.cycle({"issue_acks": update | tile}, taken=())
        await channel.cycle(taken=())
        assert not channel.ready("issue_acks")
        await channel.cycle({"issue_acks": write}, taken=())
        await channel.cycle()
        assert channel.reference.stored == 5

    simulate(TIMING, bench)


def test_waiting_updates_of_a_tile_become_one():
    async def bench(channel):
        update = {"access": Access.UPDATE, "dispatch_index": 12, "wavefront": 3}
        for atom in (7, 9, 5, 8):
            await channel.cycle({"issue_acks": update | {"atom": atom}}, taken=())
        left = [ports["tile_issue_acks"] for ports, _ in [await channel.cycle() for _ in range(2)]]
        assert [(event["count"], event["atom"]) for event in left] == [(1, 7), (3, 5)]

    simulate(TIMING, bench)


def test_occupancy_is_a_cycle_old():
    async def bench(ctx):
        config = {"policy": Policy.MCA, "threshold": 5, "starvation_limit": 0xFFFF}
        ctx.set(dut.arbiter, config)
        ctx.set(dut.launch_configuration, {"first_workgroup": FIRST, "workgroups": WORKGROUPS})
        ctx.set(dut.maps, dut.maps.shape().const({"regions": REGIONS}))
        ctx.set(dut.occupancy, 5)
        ctx.set(dut.link_in.p, packet(0, kind=PacketKind.STORE))
        ctx.set(dut.link_in.valid, 1)
        await ctx.tick()
        ctx.set(dut.link_in.valid, 0)
        for _ in range(10):
            assert not ctx.get(dut.dram.valid)
            await ctx.tick()
        ctx.set(dut.occupancy, 4)
        await ctx.tick()
        ctx.set(dut.occupancy, 5)
        assert not ctx.get(dut.dram.valid)
        await ctx.tick()
        assert ctx.get(dut.dram.valid)

    dut = Channel(TIMING)
    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


def test_dma_atom_from_segment_to_link():
    """A read with its slot goes out on the communication stream, and its data on the link."""
    words = [11, 12, 13, 14]
    segment = {
        "atom": 4000,
        "length": 1,
        "offset": 9,
        "wave_inner_log2": 3,
        "wavefront": 2,
        "workgroup": 23,
        "context": 6,
        "kind": PacketKind.UPDATE,
        "op": Operation.MAX,
        "dtype": Datatype.FP32,
        "remote": 4050,
    }

    async def bench(ctx):
        assert ctx.get(dut.idle)
        ctx.set(dut.segments.p, Segment(DATA).const(segment))
        ctx.set(dut.segments.valid, 1)
        ctx.set(dut.dram.ready, 1)
        await ctx.tick()
        ctx.set(dut.segments.valid, 0)
        assert not ctx.get(dut.idle)
        (request,) = await ctx.tick().sample(dut.dram.p).until(dut.dram.valid)
        assert (request.access, request.origin) == (Access.READ, Origin.COMMUNICATION)
        assert (request.atom, request.tag) == (4000, 0)
        ctx.set(dut.returns.p, {"slot": 0, "data": words})
        ctx.set(dut.returns.valid, 1)
        await ctx.tick()
        ctx.set(dut.returns.valid, 0)
        ctx.set(dut.link_out.ready, 1)
        (sent,) = await ctx.tick().sample(dut.link_out.p).until(dut.link_out.valid)
        fields = {name: segment[name] for name in ("kind", "workgroup", "context", "op", "dtype")}
        assert sent == Packet(DATA).const(fields | {"atom": 4050, "wavefront": 3, "data": words})
        assert ctx.get(dut.idle)

    dut = Channel(DATA)
    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()


def test_reduce_unit_is_there_with_payload():
    async def bench(ctx):
        ctx.set(dut.epoch, 7)
        request = {"stored": [1, 2, 3, 4], "stored_epoch": 6, "operand": [5, 6, 7, 8]}
        ctx.set(dut.nmc_in.p, NmcRequest(DATA).const(request))
        ctx.set(dut.nmc_in.valid, 1)
        await ctx.tick()
        ctx.set(dut.nmc_in.valid, 0)
        (result,) = await ctx.tick().sample(dut.nmc_out.p).until(dut.nmc_out.valid)
        # Another epoch's value is replaced.
        assert (list(result.value), result.epoch) == ([5, 6, 7, 8], 7)

    dut = Channel(DATA)
    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
