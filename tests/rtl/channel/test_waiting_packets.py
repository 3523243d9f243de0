"""Packets in the inbound queue of a channel while the context's state changes."""

import pytest

from rtl.interface.encodings import Datatype, ErrorCode, PacketKind
from tests.support.channel_bench import (
    ALL,
    TIMING,
    changed,
    end,
    packet,
    simulate,
)

UPDATE, STORE, PLACE = PacketKind.UPDATE, PacketKind.STORE, PacketKind.PLACE
BLOCKED = ALL - {"dram"}  # ports that are ready while the DRAM takes nothing
BOTH, OTHER = 3, 2  # masks of contexts
REFUSED = [
    packet(12, source=99),
    packet(12, generation=5),
    packet(12, kind=STORE, generation=5),
    packet(12, atom=8),
    packet(12, dtype=Datatype.FP16),
    packet(11),
    packet(35),
    end(12, source=99),
    packet(12, kind=PLACE, generation=5),
    packet(11, kind=PLACE),
]


def states(channel):
    """Return ``idle``, ``drained`` and ``stores_drained``, masks of contexts."""
    names = ("idle", "drained", "stores_drained")
    return [channel.ctx.get(getattr(channel.dut, name)) for name in names]


async def block(channel):
    """Fill the queues behind the check with writes of the other context."""
    other = packet(60, atom=3000, context=2, kind=STORE)
    for _ in range(5):
        await channel.cycle({"link_in": other}, taken=BLOCKED)


def test_refused_packets_leave_a_context_idle():
    async def bench(channel):
        await channel.drain()
        for number in range(30):
            await channel.cycle({"link_in": REFUSED[number % len(REFUSED)]})
            assert states(channel) == [BOTH] * 3

    simulate(TIMING, bench)


@pytest.mark.parametrize(
    "request_", [packet(12), packet(12, kind=STORE), packet(12, kind=PLACE), end(12)]
)
def test_an_accepted_packet_makes_a_context_busy(request_):
    async def bench(channel):
        await channel.drain()
        await channel.cycle({"link_in": request_})
        assert states(channel) == [BOTH] * 3
        await channel.cycle({})  # checked in this cycle
        assert states(channel)[:2] == [OTHER] * 2
        assert states(channel)[2] == (BOTH if request_["kind"] == STORE else OTHER)

    simulate(TIMING, bench)


def test_packets_from_before_a_change():
    """A context that changes is drained once the packets that waited then have left, however many
    come behind them, and the other context does not wait for them."""

    async def bench(channel):
        await block(channel)
        await channel.cycle({"link_in": packet(12, source=99)}, taken=BLOCKED)
        await channel.cycle({}, taken=BLOCKED)
        assert [state & 1 for state in states(channel)] == [1, 1, 1]
        channel.program(changed(changes=1))
        await channel.cycle({}, taken=BLOCKED)
        channel.program(changed())
        for _ in range(20):
            await channel.cycle({"link_in": packet(12, source=99)}, taken=BLOCKED)
            assert [state & 1 for state in states(channel)] == [0, 0, 0]
        assert states(channel)[2] == OTHER
        waited = 0
        while not states(channel)[1] & 1:
            await channel.cycle({"link_in": packet(12, source=99)})
            waited += 1
        assert waited <= 6

    simulate(TIMING, bench)


@pytest.mark.parametrize("kind", [STORE, UPDATE, PLACE, PacketKind.END])
@pytest.mark.parametrize("launched", [0, 1])
def test_a_packet_that_came_without_a_launch(kind, launched):
    """A packet that came before a context's first launch is of no launch, although its generation
    is that of the launch in whose time it is checked."""

    async def bench(channel):
        await block(channel)
        channel.program(changed(launched=launched))
        request = end(12) if kind == PacketKind.END else packet(12, kind=kind)
        while True:
            left, _ = await channel.cycle({"link_in": request}, taken=BLOCKED)
            if not channel.ctx.get(channel.dut.link_in.ready):
                break
        channel.program(changed(launched=1))
        _, errors = await channel.drain()
        assert (ErrorCode.PACKET_STALE in errors) == (not launched)
        assert set(errors) <= {ErrorCode.PACKET_STALE}

    simulate(TIMING, bench)
