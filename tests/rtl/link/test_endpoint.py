from dataclasses import replace

import pytest

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import LinkPacket
from rtl.link.endpoint import LinkEndpoint
from rtl.link.layouts import Flit
from tb.link_endpoint.wire import CLEAN, DEAD, KINDS, Faults
from tests.support.link_pair import LINK, P, Pair

VERIFY = pytest.mark.verify


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not 5"):
        LinkEndpoint(5)
    with pytest.raises(TypeError, match=r"Link must be LinkParameters, not 5"):
        LinkEndpoint(P, 5)


def test_clean_link_at_full_rate():
    """One packet per cycle passes in each direction, nine cycles plus the link's latency after it
    was accepted, if each has a frame of its own.
    """
    latency = 3

    async def bench(pair):
        begin = pair.cycle
        await pair.step(400)
        for here, there in (pair.sides, pair.sides[::-1]):
            cycles = [cycle for cycle, _ in here.sent]
            assert cycles == list(range(begin, begin + 400))
            arrivals = [cycle for cycle, _ in there.received]
            assert arrivals == [cycle + 9 + latency for cycle in cycles[: len(arrivals)]]
        await pair.drain(100)
        assert pair.count("replays") == pair.count("corrupt") == [0, 0]
        assert not pair.sides[0].errors and not pair.sides[1].errors

    Pair(1, Faults(latency=latency), runs=0).run(bench)


def spoil(channel, cycle, *, lose):
    """Lose the flit that is sent in a cycle, or corrupt it."""
    put = channel.put

    def put_or_spoil(flit, now):
        if now != cycle:
            put(flit, now)
        elif not lose:
            put(flit ^ 1 << 40, now)

    channel.put = put_or_spoil


@pytest.mark.parametrize(
    ("number", "lose"),
    [
        pytest.param(
            number,
            lose,
            marks=() if (number, lose) in ((0, True), (38, False), (99, True)) else VERIFY,
        )
        for number in (0, 37, 38, 99)
        for lose in (True, False)
    ],
)
def test_a_loss_costs_a_round_trip(lose, number):
    """In a hundred packets at full rate, the lost packet and those behind it arrive later by twice
    the latency of the link and 16 cycles. One more cycle passes if the other side, which looks at
    every second flit, skips the request; another one if the replay memory is written where it is
    read. The loss of the last packet is detected like any other loss."""
    latency, most = 5, 100
    link = replace(LINK, replay_depth=128, receive_depth=128, sequence_bits=10)

    async def bench(pair):
        here, there = pair.sides
        there.most, here.most = 0, most
        begin = pair.cycle
        spoil(pair.channels[0], begin + number + 4, lose=lose)
        await pair.step(200)
        late = [cycle - begin - n - 9 - latency for n, (cycle, _) in enumerate(there.received)]
        assert len(late) == most and late[:number] == [0] * number
        assert late == sorted(late)
        assert {cycles - 2 * latency for cycles in late[number:]} <= {16, 17, 18}
        assert pair.count("replays") == [1, 0]
        await pair.drain(100)

    Pair(4, Faults(latency=latency), link=link, runs=0).run(bench)


async def at_several_rates(pair, phases, cycles):
    for _ in range(phases):
        for side in pair.sides:
            side.offer, side.take = (pair.rng.choice([0.1, 0.5, 1]) for _ in range(2))
        await pair.step(cycles)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind in ("all", "lose") else VERIFY)
        for kind in KINDS
        if kind != "worst"
    ],
)
def test_faulty_link(kind):
    """Every packet arrives once and in order, both ways at once, whatever the rates of both sides
    are."""
    faults = KINDS[kind]

    async def bench(pair):
        await at_several_rates(pair, 5, 80)
        await pair.drain(10000)
        assert min(pair.count("replays")) > 0
        for channel in pair.channels:
            channel.faults = CLEAN
        await pair.step(100)
        corrupt = pair.count("corrupt")
        assert corrupt == [side.framing.corrupt for side in pair.sides]
        assert (min(corrupt) > 0) == (faults.corrupt + faults.torn > 0)

    Pair(list(KINDS).index(kind), faults).run(bench)


@pytest.mark.verify
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_faulty_link_at_length(kind, seed):
    async def bench(pair):
        await at_several_rates(pair, 40, 200)
        while len(pair.sides[0].sent) <= 1 << LINK.sequence_bits:  # until they wrap around
            await at_several_rates(pair, 1, 200)
        await pair.drain(20000)

    Pair(1000 + 10 * seed + list(KINDS).index(kind), KINDS[kind]).run(bench)


@pytest.mark.parametrize("broken", [0, pytest.param(1, marks=VERIFY)])
def test_one_direction_is_faulty(broken):
    """Lost flits, of both directions or of one, lose no packet."""

    async def bench(pair):
        pair.channels[broken].faults = Faults(lose=0.3, corrupt=0.1, late=0.2, straggle=9)
        pair.sides[1].most = 0
        await pair.step(300)
        await pair.drain(3000)

    Pair(20 + broken).run(bench)


def test_old_flits():
    """One in ten of the frames of one flit is an old one: half of the sequence numbers, as
    docs/link.md allows."""
    oldest = (1 << LINK.sequence_bits - 1) - 10  # flits in the pipelines are a little older
    marks = Flit(LinkPacket(P), LINK).size - 2
    replayed = []

    def straying(pair, channel):
        put = channel.put
        log = []

        def put_and_replay(flit, cycle):
            if flit >> marks != 3:  # not both first and last
                put(flit, cycle)
                return
            moved = min(len(side.received) for side in pair.sides)
            log.append((moved, flit))
            while log and max(len(side.received) for side in pair.sides) - log[0][0] > oldest:
                log.pop(0)
            if log and moved > oldest and pair.rng.random() < 0.1:
                replayed.append(log[0][0])
                put(log[0][1], cycle)
            else:
                put(flit, cycle)

        channel.put = put_and_replay

    async def bench(pair):
        for channel in pair.channels:
            straying(pair, channel)
        await pair.step(1500)
        await pair.drain(3000)
        assert len(replayed) > 100

    Pair(60, runs=0.2).run(bench)


def test_back_pressure():
    """A receiver that takes no packets stops its peer, without a loss, a replay or an error."""

    async def bench(pair):
        here, there = pair.sides
        there.take = 0
        await pair.step(2 * LINK.down_cycles)
        assert len(here.sent) == LINK.receive_depth + LINK.replay_depth
        assert len(here.received) > LINK.down_cycles  # the other direction goes on
        there.take = 0.3
        await pair.step(100)
        await pair.drain(500)
        assert pair.count("replays") == [0, 0]
        assert not here.errors and not there.errors

    Pair(30).run(bench)


def test_busy_link_needs_no_replay():
    """A flit waits unchanged for a link that is slower than the endpoint."""

    async def bench(pair):
        await pair.step(300)
        await pair.drain(500)
        assert pair.count("replays") == [0, 0]

    Pair(32, Faults(busy=0.5)).run(bench)


@pytest.mark.parametrize("restarts", [False, True])
def test_idle_link_is_clock_gated(restarts):
    """An idle link is clock-gated, except for a flit each way in idle_cycles and one cycle more;
    also if the other side is silent."""
    link = replace(LINK, idle_cycles=128, timeout_cycles=256, down_cycles=512)
    periods, busy_cycles = 6, 20

    async def bench(pair):
        for side in pair.sides:
            side.most = 0
        if restarts:
            pair.set_restart(1, 1)
            pair.channels[1].faults = DEAD
        await pair.step(4 * link.lifetime_cycles + link.down_cycles)
        clocked = 0
        for _ in range(periods * (link.idle_cycles + 1)):
            await pair.step(1)
            clocked += pair.count("clock_enable")[0]
        assert periods <= clocked <= periods * busy_cycles

    Pair(33, link=link).run(bench)


def test_idle_link_stays_up():
    async def bench(pair):
        for side in pair.sides:
            side.most = 0
        await pair.step(2 * LINK.down_cycles)
        assert pair.count("down") == [0, 0]
        assert not pair.sides[0].errors and not pair.sides[1].errors

    Pair(31).run(bench)


LATE_CYCLES = 24  # flits on the wire, and the pipelines


def reported(side, since):
    """Return the code of the report, which must come once and in time."""
    ((cycle, code),) = side.errors
    assert since + LINK.down_cycles <= cycle <= since + LINK.down_cycles + LATE_CYCLES
    return ErrorCode(code)


@pytest.mark.parametrize("dead", [[0], pytest.param([0, 1], marks=VERIFY)])
def test_dead_link_is_reported_once_and_recovers(dead):
    """Packets wait on both sides, so each side acknowledges the other's packets."""

    async def bench(pair):
        await pair.step(100)
        since = pair.cycle
        for index in dead:
            pair.channels[index].faults = DEAD
        await pair.step(2 * LINK.down_cycles)
        for side in pair.sides:
            assert reported(side, since) == ErrorCode.LINK_DOWN
        assert pair.count("down") == [1, 1]
        for channel in pair.channels:
            channel.faults = CLEAN
        await pair.step(100)
        assert pair.count("down") == [0, 0]
        assert all(len(side.errors) == 1 for side in pair.sides)
        for channel in pair.channels:
            channel.faults = DEAD
        await pair.step(LINK.down_cycles + LATE_CYCLES)
        assert all(len(side.errors) == 2 for side in pair.sides)  # anew
        for channel in pair.channels:
            channel.faults = CLEAN
        await pair.drain(500)

    Pair(40 + sum(dead)).run(bench)


def test_silent_neighbour_is_reported_without_packets():
    async def bench(pair):
        for side in pair.sides:
            side.most = 0
        for channel in pair.channels:
            channel.faults = DEAD
        await pair.step(LINK.down_cycles + LATE_CYCLES)
        for side in pair.sides:
            assert reported(side, 0) == ErrorCode.LINK_DOWN

    Pair(50).run(bench, opens=False)


def test_link_that_takes_nothing_is_reported():
    async def bench(pair):
        await pair.step(100)
        since = pair.cycle
        pair.channels[0].faults = Faults(busy=1)
        await pair.step(LINK.down_cycles + LATE_CYCLES)
        for side in pair.sides:
            assert reported(side, since) == ErrorCode.LINK_DOWN
        pair.channels[0].faults = CLEAN
        await pair.drain(500)

    Pair(51).run(bench)
