"""Two endpoints with short numbers, whose sides are reset and restarted again and again, over links
that lose, corrupt, tear, repeat and delay frames up to their bound.

The invariants need no model: nothing is delivered twice, out of order or from an older session, no
control word is older than its session, and each side reports the end of each session that it did
not end itself.
"""

from collections import Counter

import pytest

from rtl.interface.encodings import ErrorCode
from rtl.link.layouts import FRAME_ATOMS
from rtl.link.parameters import LinkParameters
from tb.link_endpoint.wire import Faults
from tests.support.link_pair import Pair

# The shortest sequence numbers whose bound on the lifetime allows the longest frame any delay.
SHORT = LinkParameters(
    replay_depth=16,
    receive_depth=16,
    sequence_bits=7,
    timeout_cycles=16,
    idle_cycles=8,
    down_cycles=128,
    lifetime_cycles=32,
    contexts=2,
    control_interval=2,
)
NUMBERS = 1 << SHORT.sequence_bits
MOST_AGE = SHORT.lifetime_cycles - 8
QUIET_CYCLES = 2 * SHORT.lifetime_cycles
BEGIN_CYCLES = QUIET_CYCLES + SHORT.idle_cycles + 5 * MOST_AGE
LONG_CYCLES = 6 * BEGIN_CYCLES  # the numbers wrap in this time at full rate
MOST_LATENCY = MOST_AGE - (FRAME_ATOMS - 1)  # the age ends when the last flit has arrived
STRAGGLE = dict(latency=2, straggle=MOST_LATENCY - 2)
LINKS = {
    "clean": Faults(latency=MOST_LATENCY),
    "lossy": Faults(lose=0.2, latency=MOST_LATENCY),
    "repeating": Faults(repeat=0.5, late=0.5, **STRAGGLE),
    "torn": Faults(torn=0.2, latency=MOST_LATENCY),
    "all": Faults(lose=0.05, repeat=0.3, corrupt=0.05, torn=0.05, late=0.3, **STRAGGLE),
}
WORDS = 127  # numbers of control words, from 1 on
GENERATIONS = 16


class Words:
    """Control words of one side, numbered in the order in which they are set."""

    def __init__(self, pair, index):
        self._pair, self._index = pair, index
        self._here, self._there = pair.sides[index], pair.sides[1 - index]
        self._set = [(0, 0)]  # cycle, and number of words set by then
        self._session, self._latest = 0, 0  # session of the other side, and its latest word
        self.arrived = 0

    def change(self):
        number = self._set[-1][1] + 1
        self._set.append((self._pair.cycle, number))
        shown = (number - 1) % WORDS + 1
        word = shown % GENERATIONS, shown // GENERATIONS
        self._pair.set_words(self._index, [(0, 0), word])

    def check(self):
        """Require that the other side has no word, or one of the present session which is not older
        than the one that it had."""
        _, (generation, limit) = self._pair.peer_words(1 - self._index)
        shown = generation + GENERATIONS * limit
        if len(self._there.opened) != self._session:
            self._session, self._latest = len(self._there.opened), 0
        if not self._there.open:
            return
        if not shown:
            assert not self._latest
            return
        opened = self._here.opened[-1]
        first = max(number for cycle, number in self._set if cycle <= opened)
        last = self._set[-1][1]
        assert last - first < WORDS, "numbers of words would repeat in a session"
        number = last - (last - shown) % WORDS
        assert number >= max(first, self._latest), (number, first, self._latest)
        self.arrived += number != self._latest
        self._latest = number


async def attack(pair, restarts):
    """Reset or restart either side, or both, this many times, first after a long session at full
    rate; return the number of words that arrived."""
    rng, words = pair.rng, [Words(pair, index) for index in range(2)]
    gaps = (1, 3, 10, QUIET_CYCLES, BEGIN_CYCLES, 2 * BEGIN_CYCLES, LONG_CYCLES)
    end = pair.cycle + LONG_CYCLES
    while restarts > 0:
        while pair.cycle < end:
            await pair.step(min(rng.randint(1, 30), end - pair.cycle))
            for one in words:
                one.check()
                if rng.random() < 0.5:
                    one.change()
        for _ in range(rng.choice([1, 1, 1, 2, 6])):
            await pair.restart(*rng.choice([(0,), (1,), (0, 1)]), reset=rng.random() < 0.6)
            restarts -= 1
        for side in pair.sides:
            side.offer, side.take = (rng.choice([0.1, 0.5, 1, 1]) for _ in range(2))
            side.take *= rng.random() < 0.9  # sometimes a side takes nothing
        end = pair.cycle + rng.choice(gaps) + rng.randint(0, 10)
    return sum(one.arrived for one in words)


def run(kind, seed, restarts):
    """Run an attack, whose invariants :class:`Pair` checks at the end; return counts of events."""
    counts = Counter()

    async def bench(pair):
        counts["words"] += await attack(pair, restarts)
        await pair.drain(20_000)

    pair = Pair(seed, LINKS[kind], link=SHORT)
    pair.run(bench)
    for side in pair.sides:
        counts["restarts"] += len(side.renewed)
        counts["sessions"] += len(side.opened)
        counts["reports"] += sum(code == ErrorCode.LINK_RESET.value for _, code in side.errors)
        counts["packets"] += len(side.sent)
        counts["wraps"] += sum(len(one) // NUMBERS for one in side.sessions(side.sent))
    received = sum(len(side.received) for side in pair.sides)
    counts["lost"] = counts["packets"] - received
    counts["cycles"] = pair.cycle
    return counts


def check(counts):
    print(dict(counts))
    assert min(counts[name] for name in ("sessions", "reports", "words", "wraps", "lost")) > 0


def test_attack():
    check(run("all", 184, 30))


@pytest.mark.verify
@pytest.mark.parametrize("kind", LINKS)
def test_many_sessions(kind):
    check(run(kind, 190 + list(LINKS).index(kind), 150))
