"""Accesses that a channel passes before, during and after a launch, and during an abort."""

import pytest

from rtl.interface.encodings import ErrorCode, Operation, PacketKind, StoreKind
from tests.support.channel_bench import (
    ALL,
    CONTEXTS,
    TIMING,
    changed,
    end,
    packet,
    simulate,
    store,
)

LATE, AHEAD = "late", "ahead"


def test_admission_in_a_launch_of_all_workgroups():
    """Limits have one bit more than dispatch indices, so that a limit after the last index
    exists."""
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
        launch={"workgroups": 1 << 16},
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
    """Requests of no launch are dropped and reported; packets of kind STORE may also belong to the
    previous launch. All four bits of the generation count."""
    before = {"valid": 1, "generation": 8}
    cases = [
        # Launched, previous launch, and generation of the requests; then acceptance of updates and
        # stores, and acceptance of packets of kind STORE.
        (1, before, 9, True, True),
        (1, before, 8, False, True),
        (1, before, 1, False, False),
        (1, before, 0, False, False),
        (1, before, 13, False, False),
        (1, before | {"valid": 0}, 8, False, False),
        (1, {}, 0, False, False),
        (0, before, 9, False, False),
        (0, before, 8, False, False),
    ]

    async def bench(channel):
        for launched, former, generation, updates, writes in cases:
            contexts = changed(launch={"generation": 9}, former=former)
            contexts[0]["launched"] = launched
            channel.program(contexts)
            mine = {"generation": generation}
            copy = packet(60, kind=PacketKind.STORE, **mine)
            for port, request, is_taken, code in (
                ("stores", store(12, **mine), updates, ErrorCode.STORE_STALE),
                ("stores", store(0, **mine), updates, ErrorCode.STORE_STALE),
                ("stores", store(0, atom=999, **mine), True, None),
                ("link_in", packet(12, **mine), updates, ErrorCode.PACKET_STALE),
                ("link_in", end(12, **mine), updates, ErrorCode.PACKET_STALE),
                ("link_in", copy, writes, ErrorCode.PACKET_STALE),
            ):
                await channel.cycle({port: request})
                left, errors = await channel.drain(6)
                assert errors == ([] if is_taken else [code]), (launched, former, generation)
                assert len(left) == is_taken

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    ("port", "request_"),
    [
        *[("stores", store(dispatch_index)) for dispatch_index in (0, 12, 33)],
        # Requests that would be errors without the abort, too.
        *[("stores", store(dispatch_index)) for dispatch_index in (11, 35)],
        ("stores", store(12, kind=StoreKind.END_OF_TILE)),
        ("link_in", packet(12)),
        ("link_in", packet(60, kind=PacketKind.STORE)),
        *[("link_in", packet(slot)) for slot in (11, 0, 60)],
        ("link_in", packet(12, op=Operation.MAX)),
        *[("link_in", end(slot)) for slot in (12, 11, 0, 60)],
        ("stores", store(0, kind=StoreKind.END_OF_TILE)),
    ],
)
@pytest.mark.parametrize("aborting", [1, 5])
def test_what_comes_during_an_abort_is_dropped(port, request_, aborting):
    """A request is dropped even if the abort ends before the packet is checked."""

    async def bench(channel):
        channel.program(changed(aborting=1))
        for cycle in range(aborting):
            assert await channel.cycle({port: request_} if cycle == 0 else {}) == ({}, [])
        channel.program(CONTEXTS)
        assert await channel.drain() == ([], [])
        # A store after the abort is accepted.
        await channel.cycle({"stores": store(12)})
        ((got, _),), errors = await channel.drain()
        assert (got, errors) == ("dram", [])

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    ("port", "request_", "outcome"),
    [
        ("stores", store(0, atom=999), "dram"),
        ("stores", store(0, context=7), "dram"),
        ("stores", store(50), "dram"),
        ("reads", {"atom": 1500, "tag": 9}, "dram"),
        ("link_in", packet(60, atom=999, kind=PacketKind.STORE), ErrorCode.PACKET_UNMAPPED),
        # Requests of the other context.
        ("stores", store(0, atom=3000, context=2), "link_out"),
        ("stores", store(23, atom=3000, context=2), "dram"),
        ("stores", store(11, atom=3000, context=2), "link_out"),
        ("link_in", packet(60, atom=3000, context=2, kind=PacketKind.STORE), "dram"),
        ("link_in", packet(0, atom=3000, context=2), ErrorCode.PACKET_UNMAPPED),
        ("link_in", end(20, context=2), "end_of_tile_markers"),
        ("link_in", end(0, context=2), ErrorCode.PACKET_UNMAPPED),
        ("link_in", end(12, context=7), ErrorCode.PACKET_UNMAPPED),
    ],
)
def test_an_abort_is_of_one_context(port, request_, outcome):
    """Accesses to no region, or of the other context, are not affected."""

    async def bench(channel):
        channel.program(changed(aborting=1))
        await channel.cycle({port: request_})
        left, errors = await channel.drain()
        assert [got for got, _ in left] + errors == [outcome]

    simulate(TIMING, bench)


@pytest.mark.parametrize("blocked", [True, False])
def test_an_abort_drops_what_waits_for_the_link(blocked):
    """An abort drops all packets except two that the link's queue has accepted, and none of the
    other context.
    """
    requests = [store(0), store(0, atom=3000, context=2)] * 6

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
