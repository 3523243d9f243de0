"""Tests of latencies and timeouts on a quiet link, where no other flit enables an
endpoint's clock.
"""

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
    "each_bit_is_sent",
    "lost_once",
    "nothing_is_acknowledged",
    "no_flit_arrives",
]

_EVENTS = 12
_LOSSES = 6
_GAP_CYCLES = 2 * LINK.idle_cycles
_PACKET_CYCLES = 9  # in addition to the wire's latency
# From a change of a word to its output, in addition to the wire's latency; words are sampled in
# every second cycle.
_WORD_CYCLES = (12, 13)
# From the acceptance of a packet, or from the end of the silence, to the report.
_STANDSTILL_CYCLES, _SILENCE_CYCLES = LINK.down_cycles + 3, LINK.down_cycles + 5
# The first latency includes the path through the replay memory. An arriving flit may make the
# endpoint compare the time one cycle earlier.
_FIRST_REPLAY_CYCLES, _REPLAY_CYCLES = LINK.timeout_cycles + 4, LINK.timeout_cycles + 3
_ONE_WAY_CYCLES = 3 * LINK.timeout_cycles
# In addition to three times the wire's latency: there, back, and there again.
_REQUESTED_CYCLES = (26, 27)
_SENT_CYCLES = 4  # from the acceptance of a packet to the departure of its flit
_CLOCKED_CYCLES = 9  # in every ``idle_cycles + 1``: a flit leaves, and a flit arrives
_LONG_CYCLES = 2 * LINK.down_cycles  # in which the monitor's counters would wrap

expect(
    "packet alone",
    "word alone",
    "each bit sent",
    "sent again after the timeout",
    "sent again on request",
    "silence reported",
)


async def _quiet(dut, *, number: int, latency: int = 1) -> Connection:
    """Return a link with an open session, without offers or changes, on which every packet is
    acknowledged.
    """
    link = Connection(dut, Faults(latency=latency), number=number)
    await link.start()
    for side in link.sides:
        side.traffic.runs = 0
        side.most = len(side.sent)
    await link.run(2 * _GAP_CYCLES + link.rng.randrange(LINK.idle_cycles))
    return link


@cocotb.test()
async def alone_on_a_quiet_link(dut):
    """A packet or a word arrives after the documented latency, and is sent once."""
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
                here.changes = 1
                await link.run(1)
                here.changes = 0
                await link.run(max(_WORD_CYCLES) + latency - 1)
                assert there.peer_words() == here.local_words()
                cover("word alone")
        await link.run(2 * LINK.timeout_cycles)
        assert link.values("replays") == [0, 0] and link.no_errors()


@cocotb.test()
async def each_bit_is_sent(dut):
    """A change of a single bit of a word is sent in time."""
    link = await _quiet(dut, number=2)
    for context in range(LINK.contexts):
        base = link.rng.getrandbits(WORD_BITS)
        for side in link.sides:
            side.set_word(link.cycle, context, base)
        await link.run(_GAP_CYCLES)
        # Invert all bits and back, so that each bit changes while the others are 0 and while they
        # are 1.
        for bit in (*range(WORD_BITS), *range(WORD_BITS)):
            for side in link.sides:
                side.set_word(link.cycle, context, side.local_words()[context] ^ 1 << bit)
            await link.run(max(_WORD_CYCLES) + 1)
            here, there = link.sides
            assert (
                here.peer_words() == there.local_words()
                and there.peer_words() == here.local_words()
            )
            # The next change occurs while the clocks of both endpoints are gated.
            while any(int(getattr(dut, f"{name}__clock_enable").value) for name in SIDES):
                await link.run(1)
    cover("each bit sent")


@cocotb.test()
async def lost_once(dut):
    """The peer requests a lost packet, the last of several, long before the timeout."""
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
        assert arrived - taken - 3 * latency in _REQUESTED_CYCLES
        cover("sent again on request")


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
            if link.cycle == begin + _ONE_WAY_CYCLES:
                link.wires[1 - index].faults = clean
            await link.run(1)
            if here.value("replays") != replays:
                replays += 1
                assert here.value("replays") == replays
                again.append(link.cycle)
        assert here.errors == [(begin + _STANDSTILL_CYCLES, ErrorCode.LINK_DOWN)]
        assert here.value("down")
        before_reverse = [cycle - begin for cycle in again if cycle < begin + _ONE_WAY_CYCLES]
        assert before_reverse == list(range(_FIRST_REPLAY_CYCLES, _ONE_WAY_CYCLES, _REPLAY_CYCLES))
        earlier = [_REPLAY_CYCLES - after + before for before, after in pairwise(again)]
        assert set(earlier) <= {0, 1}
        cover("sent again after the timeout", len(again) > 1)


@cocotb.test()
async def no_flit_arrives(dut):
    """An idle endpoint sends a flit every ``idle_cycles + 1`` cycles, and its clock is gated
    between flits; without any flit the link is reported as down.
    """
    link = await _quiet(dut, number=random.Random(cocotb.RANDOM_SEED).randrange(100))
    await link.run(QUIET_CYCLES)  # until the counter of the session's age has ended
    clocked, periods = [0, 0], 10
    for _ in range(periods * (LINK.idle_cycles + 1)):
        await link.run(1)
        for index, name in enumerate(SIDES):
            clocked[index] += int(getattr(dut, f"{name}__clock_enable").value)
    assert clocked == [periods * _CLOCKED_CYCLES] * 2
    for wire in link.wires:
        times = wire.arrivals[-8:]
        assert {after - before for before, after in pairwise(times)} == {LINK.idle_cycles + 1}
        wire.faults = DEAD
    await link.run(_SILENCE_CYCLES + _LONG_CYCLES)
    assert link.values("down") == [1, 1]
    cover("silence reported")
    for side, wire in zip(link.sides, link.wires[::-1], strict=True):
        assert side.errors == [(wire.arrivals[-1] + _SILENCE_CYCLES, ErrorCode.LINK_DOWN)]
