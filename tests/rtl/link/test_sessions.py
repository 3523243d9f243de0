"""Two endpoints, of which one is reset or restarted."""

import pytest

from rtl.interface.encodings import ErrorCode
from tb.link_endpoint.wire import CLEAN, DEAD, KINDS
from tests.support.link_pair import LINK, Pair

QUIET_CYCLES = 2 * LINK.lifetime_cycles
ROUND_TRIP_CYCLES = 20
SILENT_CYCLES = LINK.idle_cycles + 1  # between two flits of the same contents
BEGIN_CYCLES = QUIET_CYCLES + SILENT_CYCLES + 2 * ROUND_TRIP_CYCLES
SOME_KINDS = [
    pytest.param(kind, marks=() if kind == "all" else pytest.mark.verify) for kind in KINDS
]


def codes(side):
    return [ErrorCode(code) for _, code in side.errors]


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("index", [0, 1])
def test_one_side_begins_anew(index, reset):
    """The other side reports the restart once. Packets pass again after the quiet time of both
    sides, which is that of the other side if it learns of the restart at once."""

    async def bench(pair):
        here, there = pair.sides[index], pair.sides[1 - index]
        await pair.step(100)
        received = len(there.received)
        since = pair.cycle
        await pair.restart(index, reset=reset)
        assert not pair.count("open")[index]
        await pair.step(ROUND_TRIP_CYCLES + SILENT_CYCLES)
        assert pair.count("open") == [0, 0]
        assert codes(there) == [ErrorCode.LINK_RESET]
        await pair.step(BEGIN_CYCLES)
        assert pair.count("open") == [1, 1]
        for side in pair.sides:
            assert side.opened[-1] - since <= BEGIN_CYCLES
            assert len(side.opened) == 2
        assert len(there.received) > received
        await pair.drain(500)
        assert codes(there) == [ErrorCode.LINK_RESET] and not here.errors

    Pair(100 + 2 * index + reset).run(bench)


@pytest.mark.parametrize("kind", SOME_KINDS)
def test_random_resets(kind):
    """Packets arrive in the session in which they were sent, from the first one on."""

    async def bench(pair):
        for _ in range(8):
            for side in pair.sides:
                side.offer, side.take = (pair.rng.choice([0.1, 0.5, 1]) for _ in range(2))
            # Often while the session begins.
            await pair.step(pair.rng.choice([1, 5, 40, QUIET_CYCLES, 2 * QUIET_CYCLES]))
            await pair.step(pair.rng.randint(1, 20))
            await pair.restart(pair.rng.randrange(2), reset=pair.rng.random() < 0.5)
        await pair.drain(20000)
        assert len(pair.sides[0].opened) > 1

    Pair(120 + list(KINDS).index(kind), KINDS[kind]).run(bench)


def test_buffered_packets_are_dropped():
    """All buffered packets are dropped except the offered one; no session begins until it is
    taken."""

    async def bench(pair):
        here, there = pair.sides
        there.take = 0
        await pair.step(60)
        await pair.restart(0, reset=True)
        await pair.step(2 * QUIET_CYCLES)
        assert pair.count("open") == [0, 0] and not there.received
        there.take = 1.0
        await pair.step(2)
        assert len(there.received) == 1 and pair.count("open") == [0, 0]
        await pair.step(3 * ROUND_TRIP_CYCLES)
        assert pair.count("open") == [1, 1]
        await pair.drain(500)

    Pair(130).run(bench)


def test_restart_keeps_the_link_from_beginning():
    async def bench(pair):
        pair.set_restart(0, 1)
        await pair.step(3 * QUIET_CYCLES)
        assert pair.count("open") == [0, 0]
        pair.set_restart(0, 0)
        await pair.step(QUIET_CYCLES + 2 * ROUND_TRIP_CYCLES)
        await pair.drain(500)

    Pair(131).run(bench)


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.verify)])
def test_reset_and_down_are_both_reported(step):
    """Reset and link down are both reported, also if both occur in the same cycle, as in one of
    the runs in steps of one cycle."""
    found = []
    for late in range(-8 - 2 * SILENT_CYCLES, 8, step):

        async def bench(pair, late=late):
            for side in pair.sides:
                side.most = 0
            pair.channels[0].faults = DEAD  # so side 1 hears nothing
            await pair.step(1)
            await pair.restart(0, reset=True)
            await pair.step(LINK.down_cycles + late)
            pair.channels[0].faults = CLEAN
            await pair.step(ROUND_TRIP_CYCLES + SILENT_CYCLES)
            found.append(codes(pair.sides[1]))

        Pair(132).run(bench)
    assert all(reported.count(ErrorCode.LINK_RESET) == 1 for reported in found)
    downs = [reported.count(ErrorCode.LINK_DOWN) for reported in found]
    assert downs == sorted(downs) and set(downs) == {0, 1}


def test_session_that_does_not_begin_is_reported():
    """A side that receives, but is not received, is down as well."""

    async def bench(pair):
        pair.channels[0].faults = DEAD
        await pair.step(LINK.down_cycles + 30)
        for side in pair.sides:
            assert codes(side) == [ErrorCode.LINK_DOWN]
        pair.channels[0].faults = CLEAN
        await pair.drain(2 * QUIET_CYCLES)
        assert pair.count("down") == [0, 0]

    Pair(133).run(bench, opens=False)
