# amaranth: UnusedElaboratable=no
"""What takes how long on a quiet link, where no other flit wakes an endpoint."""

import random
from itertools import pairwise

import cocotb

from rtl.interface.encodings import ErrorCode
from tb.cover import cover, expect
from tb.cycle import scaled
from tb.link_endpoint.connection import QUIET_CYCLES, Connection
from tb.link_endpoint.dut import LINK, SIDES
from tb.link_endpoint.side import WORD_BITS
from tb.link_endpoint.wire import DEAD, Faults

__all__ = [
    "alone_on_a_quiet_link",
    "each_bit_is_news",
    "lost_once",
    "nothing_is_acknowledged",
    "nothing_is_heard",
]

_EVENTS = 12
_LOSSES = 6
_GAP_CYCLES = 2 * LINK.idle_cycles
_PACKET_CYCLES = 9  # besides the wire's
# Of a word: the teller looks at it in every second cycle.
_WORD_CYCLES = (12, 13)
# From a packet that is taken, or from the end of the silence, to the report.
_STANDSTILL_CYCLES, _SILENCE_CYCLES = LINK.down_cycles + 3, LINK.down_cycles + 5
# The first time has the way to the memory's end in it, too. What is heard may make it look at the
# time in the cycle before.
_FIRST_REPLAY_CYCLES, _REPLAY_CYCLES = LINK.timeout_cycles + 4, LINK.timeout_cycles + 3
_UNHEARD_CYCLES = 4 * LINK.timeout_cycles
# Besides the wire's: there, back, and there again.
_TOLD_CYCLES = (25, 26)
_SENT_CYCLES = 4  # from a packet that is taken to the flit that leaves
_AWAKE_CYCLES = 9  # of ``idle_cycles`` and one: a flit leaves, and one arrives
_LONG_CYCLES = 2 * LINK.down_cycles  # in which the watch's counters would begin anew

expect(
    "packet alone",
    "word alone",
    "each bit told",
    "sent again after the timeout",
    "told to be missing",
    "silence reported",
)


async def _quiet(dut, *, number: int, latency: int = 1) -> Connection:
    """A session in which nothing is offered or told, and all is acknowledged."""
    link = Connection(dut, Faults(latency=latency), number=number)
    await link.start()
    for side in link.sides:
        side.most = len(side.sent)
    await link.run(2 * _GAP_CYCLES + link.rng.randrange(LINK.idle_cycles))
    return link


@cocotb.test()
async def alone_on_a_quiet_link(dut):
    """A packet or a word is over there in time, and sent once."""
    for latency in (1, 4):
        link = await _quiet(dut, number=latency, latency=latency)
        for _ in range(scaled(_EVENTS)):
            await link.run(link.rng.randint(1, _GAP_CYCLES))
            order = link.rng.choice([1, -1])
            here, there = link.sides[::order]
            begin = link.cycle
            if link.rng.random() < 0.5:
                here.most += 1
                await link.run(_PACKET_CYCLES + latency + 1)
                assert here.sent[-1][0] == begin
                assert there.received[-1][0] == begin + _PACKET_CYCLES + latency
                assert there.received[-1][1] == here.sent[-1][1]
                cover("packet alone")
            else:
                here.tell = 1
                await link.run(1)
                here.tell = 0
                await link.run(max(_WORD_CYCLES) + latency - 1)
                assert there.told() == here.tells()
                cover("word alone")
        await link.run(2 * LINK.timeout_cycles)
        assert link.values("replays") == [0, 0] and link.no_errors()


@cocotb.test()
async def each_bit_is_news(dut):
    """A word that differs from the one before in a single bit is told, too, in time."""
    link = await _quiet(dut, number=2)
    for context in range(LINK.contexts):
        base = link.rng.getrandbits(WORD_BITS)
        for side in link.sides:
            side.tell_another(link.cycle, context, base)
        await link.run(_GAP_CYCLES)
        # To its complement and back, so that each changes with any other one at 0 and at 1.
        for bit in (*range(WORD_BITS), *range(WORD_BITS)):
            for side in link.sides:
                side.tell_another(link.cycle, context, side.tells()[context] ^ 1 << bit)
            await link.run(max(_WORD_CYCLES) + 1)
            here, there = link.sides
            assert here.told() == there.tells() and there.told() == here.tells()
            # The next one comes to endpoints that sleep.
            while any(int(getattr(dut, f"{name}__awake").value) for name in SIDES):
                await link.run(1)
    cover("each bit told")


@cocotb.test()
async def lost_once(dut):
    """The other side tells that the last of some packets is missing, long before the timeout."""
    for number in range(scaled(_LOSSES)):
        latency = 1 + number % 3
        link = await _quiet(dut, number=number, latency=latency)
        index, earlier = number % 2, number // 2 % 3
        here, there = link.sides[index], link.sides[1 - index]
        here.most += earlier + 1
        await link.run(earlier + _SENT_CYCLES)
        before, link.wires[index].faults = link.wires[index].faults, DEAD
        await link.run(1)
        link.wires[index].faults = before
        await link.run(60)
        assert len(there.received) == earlier + 1 and here.value("replays") == 1
        taken, arrived = here.sent[-1][0], there.received[-1][0]
        assert arrived - taken - 3 * latency in _TOLD_CYCLES
        cover("told to be missing")


@cocotb.test()
async def nothing_is_acknowledged(dut):
    """A packet whose flits are all lost is sent again after each timeout, and then reported."""
    for index in range(2):
        link = await _quiet(dut, number=index)
        here = link.sides[index]
        clean = link.wires[index].faults
        link.set_faults(DEAD)
        here.most += 1
        begin, replays = link.cycle, here.value("replays")
        again = []
        while link.cycle < begin + _STANDSTILL_CYCLES + _LONG_CYCLES:
            if link.cycle == begin + _UNHEARD_CYCLES:
                link.wires[1 - index].faults = clean
            await link.run(1)
            if here.value("replays") != replays:
                replays += 1
                assert here.value("replays") == replays
                again.append(link.cycle)
        assert here.errors == [(begin + _STANDSTILL_CYCLES, ErrorCode.LINK_DOWN)]
        assert here.value("down")
        unheard = [cycle - begin for cycle in again if cycle < begin + _UNHEARD_CYCLES]
        assert unheard == list(range(_FIRST_REPLAY_CYCLES, _UNHEARD_CYCLES, _REPLAY_CYCLES))
        earlier = [_REPLAY_CYCLES - after + before for before, after in pairwise(again)]
        assert set(earlier) <= {0, 1}
        cover("sent again after the timeout", len(again) > 1)


@cocotb.test()
async def nothing_is_heard(dut):
    """Without news a flit comes in every ``idle_cycles`` and one, between them both sides sleep;
    without any the link is down."""
    link = await _quiet(dut, number=random.Random(cocotb.RANDOM_SEED).randrange(100))
    await link.run(QUIET_CYCLES)  # until the session is old, which it counts
    awake, periods = [0, 0], 10
    for _ in range(periods * (LINK.idle_cycles + 1)):
        await link.run(1)
        for index, name in enumerate(SIDES):
            awake[index] += int(getattr(dut, f"{name}__awake").value)
    assert awake == [periods * _AWAKE_CYCLES] * 2
    for wire in link.wires:
        times = wire.arrivals[-8:]
        assert {after - before for before, after in pairwise(times)} == {LINK.idle_cycles + 1}
        wire.faults = DEAD
    await link.run(_SILENCE_CYCLES + _LONG_CYCLES)
    assert link.values("down") == [1, 1]
    cover("silence reported")
    for side, wire in zip(link.sides, link.wires[::-1], strict=True):
        assert side.errors == [(wire.arrivals[-1] + _SILENCE_CYCLES, ErrorCode.LINK_DOWN)]
