"""Channels that share a link."""

from dataclasses import replace
from itertools import product

import pytest

from rtl.link.sizing import round_trip_cycles
from tb.link_endpoint.wire import CLEAN, KINDS, Faults
from tests.support.link_pair import LINK
from tests.support.shared_link import Shared

SHARED = replace(
    LINK,
    channels=3,
    replay_depth=64,
    receive_depth=64,
    timeout_cycles=256,
    idle_cycles=128,
    down_cycles=512,
)
LATENCY = 4
ROUND_TRIP = round_trip_cycles(SHARED.channels, LATENCY)
ONE_OF_THREE = [0, *(pytest.param(number, marks=pytest.mark.verify) for number in (1, 2))]


@pytest.mark.parametrize(
    ("kind", "one_way"),
    [
        ("all", False),
        *(
            pytest.param(*run, marks=pytest.mark.verify)
            for run in (("all", True), *product(("lose", "reorder"), (False, True)))
        ),
    ],
)
def test_faulty_link(kind, one_way):
    """Each channel's packets are delivered there, once and in order."""

    async def bench(pair):
        for _ in range(6):
            pair.set_rates(pair.rng.choice([0.1, 0.5, 1]), pair.rng.choice([0.1, 0.5, 1]))
            await pair.step(60)
        await pair.drain(10000)

    Shared(list(KINDS).index(kind), KINDS[kind], link=SHARED, one_way=one_way).run(bench)


def test_all_take_turns():
    """All channels together use the full rate of the link, in equal shares."""

    async def bench(pair):
        await pair.step(ROUND_TRIP)
        before = pair.received()
        await pair.step(300)
        found = [now - then for now, then in zip(pair.received(), before, strict=True)]
        assert all(abs(packets - 100) <= 1 for packets in found)
        assert sum(found) in (299, 300, 301)

    Shared(11, Faults(latency=LATENCY), link=SHARED, one_way=True).run(bench)


@pytest.mark.parametrize("blocked", ONE_OF_THREE)
def test_a_blocked_channel_holds_up_no_other(blocked):
    """A receiver that takes nothing stops its own channel only, without an error or a replay; the
    other channels get its share of the link, except for the state that it reports in every
    idle_cycles."""

    async def bench(pair):
        pair.take[blocked] = 0
        await pair.step(SHARED.receive_depth * 3 + 2 * ROUND_TRIP)
        before = pair.received()
        await pair.step(300)
        found = [now - then for now, then in zip(pair.received(), before, strict=True)]
        assert found.pop(blocked) == 0
        assert all(148 <= packets <= 151 for packets in found)
        waits = pair.sent()[blocked] - pair.received()[blocked]
        # One more packet is read ahead.
        assert waits - SHARED.receive_depth - SHARED.replay_depth in (0, 1)
        pair.take[blocked] = 1
        await pair.drain(1000)
        assert pair.replays() == 0

    Shared(20 + blocked, Faults(latency=LATENCY), link=SHARED, one_way=True).run(bench)


@pytest.mark.parametrize("channel", ONE_OF_THREE)
def test_a_loss_holds_up_no_other(channel):
    """The loss of a packet does not delay the packets of other channels."""

    def run(loses):
        async def bench(pair):
            pair.lose(channel, 20 if loses else None)
            pair.set_rates(0.25, 1)
            await pair.step(300)
            await pair.drain(500)
            assert pair.replays() == loses

        pair = Shared(30, Faults(latency=LATENCY), link=SHARED, one_way=True)
        pair.run(bench)
        return [[cycle for cycle, _ in packets[:60]] for packets in pair.deliveries()]

    # The round trip of the lost packet, and the turns of the replayed packets.
    most = ROUND_TRIP + 3 * ROUND_TRIP
    with_loss, without = run(True), run(False)
    for number, (late, right) in enumerate(zip(with_loss, without, strict=True)):
        delays = [a - b for a, b in zip(late, right, strict=True)]
        if number == channel:
            assert delays[:20] == [0] * 20 and 0 < delays[20] <= ROUND_TRIP + SHARED.channels
            assert max(delays) <= most
        else:
            assert max(delays) <= SHARED.channels


def test_words_go_with_channel_0():
    """Control words travel in order with the packets of channel 0; a blocked channel 1 does not
    hold them up."""

    async def bench(pair):
        pair.take[1] = 0
        await pair.step(200)
        words = [(3, 7), (10, 1)]
        pair.set_words(words)
        await pair.step(3 * SHARED.replay_depth)  # behind the packets taken before
        assert pair.peer_words() == words
        pair.take[1] = 1
        await pair.drain(1000)

    Shared(40, CLEAN, link=SHARED, one_way=False).run(bench)
