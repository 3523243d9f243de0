"""Channel as a whole: times, space, and the DRAM's acknowledgements."""

from collections import Counter

import pytest

from rtl.channel.channel import Channel
from rtl.interface.encodings import Access, ErrorCode
from tests.support.channel_bench import TIMING, changed, packet, simulate, store


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not 'x'"):
        Channel("x")


@pytest.mark.parametrize(
    ("port", "item", "latency"),
    [
        ("reads", {"atom": 7, "tag": 9}, 2),
        ("link_in", packet(12), 3),
        ("stores", store(12), 4),
    ],
)
def test_latency(port, item, latency):
    """From port to port, a request passes only the queues and the arbiter."""

    async def bench(channel):
        await channel.cycle({port: item})
        for _ in range(latency - 1):
            assert (await channel.cycle())[0] == {}
        assert list((await channel.cycle())[0]) == ["dram"]

    simulate(TIMING, bench)


def test_packets_have_the_contexts_rank():
    async def bench(channel):
        for rank in (0, 9, 127):
            channel.program(changed(rank=rank))
            await channel.cycle({"stores": store(0)})
            ((port, sent),) = (await channel.drain())[0]
            assert (port, sent["source"]) == ("link_out", rank)

    simulate(TIMING, bench)


def test_dropped_packets_and_stores_wait_for_space():
    """A late request waits for space like any other one: it is dropped and reported once, at the
    head of its queue."""

    async def bench(channel):
        good = {"link_in": packet(12), "stores": store(12)}
        for _ in range(30):
            await channel.cycle(good, taken=())
        # The heads have become late, and so has all that follows.
        for _ in range(4):
            assert (await channel.cycle(taken=(), base=13))[1] == []
        found = [error for _ in range(40) for error in (await channel.cycle(base=13))[1]]
        assert Counter(found) == {ErrorCode.STORE_LATE: 2, ErrorCode.PACKET_LATE: 2}

    simulate(TIMING, bench)


def test_write_issue_acks_are_counted():
    async def bench(channel):
        write = {"access": Access.WRITE, "atom": 5, "dispatch_index": 0, "wavefront": 0}
        update = write | {"access": Access.UPDATE, "dispatch_index": 12}
        for _ in range(5):
            await channel.cycle({"issue_acks": write})
        assert channel.ctx.get(channel.dut.stored) == 5
        # Updates that are not taken: eight events in the queue, and more in the buffer behind it.
        # When the buffer is full, it blocks all updates.
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
