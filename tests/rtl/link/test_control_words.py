"""Control words between the packets."""

import pytest

from rtl.link.endpoint import LinkEndpoint
from rtl.link.parameters import LinkParameters
from tb.link_endpoint.dut import PARAMETERS
from tb.link_endpoint.wire import KINDS, Faults
from tests.support.link_pair import LINK, Pair

WIRE_CYCLES = 3
# Most cycles from the change of a word until the other side shows it, if packets wait and the
# words of all contexts change.
MOST_CYCLES = LINK.contexts * (LINK.control_interval + 2) + 12 + WIRE_CYCLES
WORDS = [(3, 7), (10, 1)]
OTHER_WORDS = [(4, 0), (10, 2)]
NOTHING = [(0, 0), (0, 0)]
GENERATIONS = 16


def word(number):
    """A word for each number."""
    return (number % GENERATIONS, number // GENERATIONS)


def test_words_arrive():
    """Words arrive; they are 0 after a reset of either side, until they are sent again."""

    async def bench(pair):
        assert pair.peer_words(0) == pair.peer_words(1) == NOTHING
        pair.set_words(0, WORDS)
        pair.set_words(1, OTHER_WORDS)
        await pair.step(MOST_CYCLES)
        assert pair.peer_words(1) == WORDS and pair.peer_words(0) == OTHER_WORDS
        await pair.step(2 * LINK.lifetime_cycles)  # the session is no longer young
        await pair.restart(0, reset=True)
        await pair.step(20)
        assert pair.peer_words(0) == pair.peer_words(1) == NOTHING
        await pair.open()
        await pair.step(MOST_CYCLES)
        assert pair.peer_words(1) == WORDS and pair.peer_words(0) == OTHER_WORDS
        await pair.drain(500)

    Pair(140, Faults(latency=WIRE_CYCLES)).run(bench)


@pytest.mark.parametrize(
    ("kind", "last"),
    [("all", 60), *(pytest.param(kind, 119, marks=pytest.mark.verify) for kind in KINDS)],
)
def test_order(kind, last):
    """No word that arrives overtakes a packet that was taken before it, nor a word before it."""

    async def bench(pair):
        here, there = pair.sides
        history = {0: 0}  # each number sent for context 1, and the packets taken before it
        latest = 0
        for number in range(1, last + 1):
            history[number] = len(here.sent)
            pair.set_words(0, [(0, number % 8), word(number)])
            here.offer, there.take = (pair.rng.choice([0.1, 0.5, 1]) for _ in range(2))
            for _ in range(pair.rng.choice([1, 10, 40])):
                await pair.step(1)
                _, (generation, limit) = pair.peer_words(1)
                received = generation + GENERATIONS * limit
                assert received >= latest and len(there.received) >= history[received]
                latest = received
        assert 0 < latest
        await pair.drain(30000)
        await pair.step(MOST_CYCLES)
        assert pair.peer_words(1) == [(0, last % 8), word(last)]

    Pair(150 + list(KINDS).index(kind), KINDS[kind]).run(bench)


def test_follows_at_once():
    """Packets that are accepted some cycles after a change follow the word, even in a stream
    without pauses.
    """

    async def bench(pair):
        here, there = pair.sides
        for number in range(1, 30):
            words = [(number % GENERATIONS, 0), word(number)]
            pair.set_words(0, words)
            await pair.step(MOST_CYCLES)
            assert pair.peer_words(1) == words
        assert len(here.sent) > 28 * MOST_CYCLES * LINK.control_interval // (
            LINK.control_interval + 1
        )
        await pair.drain(500)

    Pair(160, Faults(latency=WIRE_CYCLES), runs=0).run(bench)


def test_latency():
    """Without packets a control word arrives 12 cycles and the latency of the link after its
    change."""

    async def bench(pair):
        for side in pair.sides:
            side.most = 0
        await pair.step(LINK.control_interval)
        cycles = set()
        for limit in range(1, 5):
            pair.set_words(0, [(0, limit), (0, 0)])
            late = 0
            while pair.peer_words(1) != [(0, limit), (0, 0)]:
                await pair.step(1)
                late += 1
            cycles.add(late)
            await pair.step(LINK.control_interval + limit % 2)
        assert cycles == {12 + WIRE_CYCLES, 12 + WIRE_CYCLES + LINK.contexts - 1}

    Pair(163, Faults(latency=WIRE_CYCLES)).run(bench)


def test_waits_behind_what_is_not_taken():
    """A word does not overtake the packets that were taken before it."""

    async def bench(pair):
        here, there = pair.sides
        there.take = 0
        await pair.step(60)
        here.most = len(here.sent)
        pair.set_words(0, WORDS)
        await pair.step(100)
        assert pair.peer_words(1) == NOTHING
        there.take = 1.0
        while len(there.received) < here.most:
            assert pair.peer_words(1) == NOTHING
            await pair.step(1)
        await pair.step(MOST_CYCLES)
        assert pair.peer_words(1) == WORDS
        await pair.drain(500)

    Pair(161).run(bench)


@pytest.mark.parametrize(
    ("busy", "measured"),
    [(0, 600), *(pytest.param(busy, 1500, marks=pytest.mark.verify) for busy in (0, 0.7))],
)
def test_share(busy, measured):
    """Control words that change in every cycle take at most one place in control_interval of a
    link whose packets never end; one in control_interval + 1 if the link is fast."""

    async def bench(pair):
        cycle = 0

        async def steps(cycles):
            nonlocal cycle
            for _ in range(cycles):
                cycle += 1
                pair.set_words(0, [(cycle % GENERATIONS, 1), (cycle // 2 % GENERATIONS, 0)])
                await pair.step(1)

        await steps(200)
        before, words = len(pair.sides[1].received), set()
        for _ in range(measured):
            await steps(1)
            words.add(tuple(pair.peer_words(1)))
        packets = len(pair.sides[1].received) - before
        assert len(words) - 1 <= packets / (LINK.control_interval - 1) + 1
        assert len(words) > 10
        if not busy:
            share = LINK.control_interval / (LINK.control_interval + 1)
            assert abs(packets - measured * share) <= 2
        await pair.drain(2000)

    Pair(162, Faults(latency=WIRE_CYCLES, busy=busy), runs=0).run(bench)


@pytest.mark.parametrize(
    "contexts", [*(pytest.param(number, marks=pytest.mark.verify) for number in (1, 3)), 4]
)
def test_other_numbers_of_contexts(contexts):
    link = LinkParameters(
        replay_depth=32,
        receive_depth=32,
        sequence_bits=8,
        timeout_cycles=32,
        idle_cycles=16,
        down_cycles=256,
        lifetime_cycles=64,
        contexts=contexts,
        control_interval=8,
    )
    words = [(10 + context, context) for context in range(contexts)]

    async def bench(pair):
        pair.set_words(0, words)
        await pair.step(contexts * (link.control_interval + 2) + 12)
        assert pair.peer_words(1) == words and pair.peer_words(0) == [(0, 0)] * contexts
        pair.set_words(0, [*words[:-1], (5, 1)])
        await pair.step(contexts * (link.control_interval + 2) + 12)
        assert pair.peer_words(1) == [*words[:-1], (5, 1)]
        await pair.drain(500)

    Pair(170 + contexts, link=link).run(bench)


def test_too_many_contexts():
    with pytest.raises(
        ValueError, match=r"Control of \d+ bits must fit into a packet's header of \d+"
    ):
        LinkEndpoint(PARAMETERS, LinkParameters(contexts=1 << 60))


def test_waits_for_few_words_of_another_context():
    """While the link is slow, a context whose word changes in every cycle fills the memory of sent
    words. A word of another context waits for these, and for one more."""

    async def bench(pair):
        for side in pair.sides:
            side.most = 0  # no packets
        changes = 0
        for number in range(400):
            pair.set_words(0, [(0, number >= 300), word(number)])
            before = pair.peer_words(1)[1]
            await pair.step(1)
            changes += number >= 300 and pair.peer_words(1)[1] != before
        while pair.peer_words(1)[0] == (0, 0):
            pair.set_words(0, [(0, 1), word(number := number + 1)])
            before = pair.peer_words(1)[1]
            await pair.step(1)
            changes += pair.peer_words(1)[1] != before
        assert 1 < changes <= LINK.replay_depth + 1
        pair.set_words(0, NOTHING)
        await pair.drain(2000)

    Pair(164, Faults(latency=WIRE_CYCLES, busy=0.9)).run(bench)
