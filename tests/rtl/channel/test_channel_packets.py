"""Packets that arrive over the link."""

import pytest

from rtl.interface.encodings import Access, Datatype, ErrorCode, Operation, Origin, PacketKind
from tb.golden import EVERY_PACKET
from tests.support.channel_bench import ALL, TIMING, changed, has, packet, simulate, store


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
    ("request_", "table", "entry"),
    [
        (packet(12, source=5), "updates", 5),
        (packet(12, source=31), "updates", 31),
        (packet(60, kind=PacketKind.STORE, source=0), "stores", 0),
        (packet(60, kind=PacketKind.STORE, source=31), "stores", 31),
        (packet(12), "ops", Operation.MIN.value),
        (packet(12), "dtypes", Datatype.FP32.value),
    ],
)
def test_inbound_table(request_, table, entry):
    """A packet is dropped if the table of its context lacks the entry for it, and needs no other
    entry."""
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
    """A context's table affects neither packets of the other context nor packets of no context."""
    nothing = dict.fromkeys(EVERY_PACKET, 0)
    other = packet(60, atom=3000, context=2, kind=PacketKind.STORE)
    stranger = packet(60, context=3, kind=PacketKind.STORE)

    async def bench(channel):
        channel.program(changed(inbound=nothing))
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
