"""Bench of the link endpoint: two endpoints, with wires between them that lose, corrupt and delay
frames.
"""

import cocotb

from rtl.interface.encodings import ErrorCode
from tb.cover import cover, expect
from tb.cycle import scaled
from tb.link_endpoint.connection import LATE_CYCLES, QUIET_CYCLES, Connection
from tb.link_endpoint.dut import LINK, Endpoints
from tb.link_endpoint.times import (
    alone_on_a_quiet_link,
    each_bit_is_sent,
    lost_once,
    no_flit_arrives,
    nothing_is_acknowledged,
)
from tb.link_endpoint.wire import CLEAN, DEAD, KINDS, Faults

__all__ = [
    "alone_on_a_quiet_link",
    "each_bit_is_sent",
    "lost_once",
    "make_dut",
    "nothing_is_acknowledged",
    "no_flit_arrives",
]

make_dut = Endpoints

_CYCLES = 120
_COUNTS = 8  # beginnings
_PACES = 4
_RESTARTS = 12

expect(
    "full rate",
    "went back",
    "dead wire reported",
    "works again after a report",
    "busy wire reported",
    "begins anew while a session begins",
    "begins anew in a young session",
)


@cocotb.test()
async def clean_wire_at_full_rate(dut):
    """One packet per cycle passes in each direction, and arrives nine cycles plus the wire's
    latency later, if each has a frame of its own.
    """
    latency = 3
    bench = Connection(dut, Faults(latency=latency))
    for side in bench.sides:
        side.traffic.runs = 0
    await bench.start()
    begin, cycles = bench.cycle, 2 << LINK.sequence_bits
    await bench.run(cycles)
    for here, there in (bench.sides, bench.sides[::-1]):
        times = [cycle for cycle, _ in here.sent]
        assert times == list(range(begin, begin + cycles))
        arrived = [cycle for cycle, _ in there.received]
        assert arrived == [cycle + 9 + latency for cycle in times[: len(arrived)]]
        cover("full rate", len(arrived) == cycles - 9 - latency)
    await bench.drain(100)
    assert bench.values("replays") == [0, 0] and bench.no_errors()


@cocotb.test()
async def faulty_wire(dut):
    """Every packet arrives once and in order, in both directions at the same time, at any rates of
    both sides.
    """
    for faults in KINDS.values():
        bench = Connection(dut, faults)
        await bench.start()
        for _ in range(4):
            bench.set_paces()
            await bench.run(scaled(_CYCLES) // 4)
        await bench.drain(20000)
        cover("went back", min(bench.values("replays")))


@cocotb.test()
async def clean_wire_at_any_rate(dut):
    """Each packet is sent once, however rarely packets are offered or accepted."""
    for number in range(scaled(_PACES)):
        bench = Connection(dut, number=number)
        await bench.start()
        bench.set_paces()
        await bench.run(_CYCLES)
        await bench.drain(500)
        assert bench.values("replays") == [0, 0] and bench.no_errors()


@cocotb.test()
async def either_side_begins_anew(dut):
    """A delivered packet was sent in the same session, and the peer reports the restart."""
    for number, faults in enumerate((CLEAN, KINDS["all"], KINDS["reorder"])):
        bench = Connection(dut, faults, number=number)
        await bench.start()
        for _ in range(scaled(_RESTARTS)):
            bench.set_paces()
            await bench.run(bench.rng.choice([1, 40, QUIET_CYCLES, 3 * QUIET_CYCLES]))
            await bench.run(bench.rng.randint(1, 20))
            index = bench.rng.randrange(2)
            opened = bench.sides[index].opened
            young = opened is not None and bench.cycle < opened + QUIET_CYCLES
            cover("begins anew while a session begins", opened is None)
            cover("begins anew in a young session", young)
            await bench.restart(index, reset=bench.rng.random() < 0.5)
        await bench.open()
        await bench.drain(20000)


@cocotb.test()
async def a_session_begins_in_time(dut):
    """A session begins after the quiet time of the side that detects the restart, and this side
    reports the restart immediately.
    """
    for index in range(2):
        bench = Connection(dut, number=index)
        await bench.start()
        here, there = bench.sides[index], bench.sides[1 - index]
        for reset_alone, times in ((False, 1), (True, 1), (False, 2)):
            # The session is no longer young.
            await bench.run(times * QUIET_CYCLES)
            before, since = len(there.errors), bench.cycle
            await bench.restart(index, reset=reset_alone)
            await bench.run(LATE_CYCLES)
            ((_, code),) = there.errors[before:]
            assert code == ErrorCode.LINK_RESET and not here.errors
            await bench.run(QUIET_CYCLES + LATE_CYCLES + LINK.idle_cycles)
            for side in bench.sides:
                assert since + QUIET_CYCLES <= side.opened <= bench.cycle
        await bench.drain(500)
        assert len(there.errors) == 3


@cocotb.test()
async def back_pressure(dut):
    """A receiver that takes no packets stops its peer, without a loss, a replay or an error."""
    for number in range(4):
        bench = Connection(dut, number=number)
        await bench.start()
        here, there = bench.sides[:: 1 if number % 2 else -1]
        await bench.run(bench.rng.randint(0, 60))
        there.take = 0
        await bench.run(LINK.down_cycles + 2 * LATE_CYCLES)
        assert len(here.sent) - len(there.received) == LINK.receive_depth + LINK.replay_depth
        assert len(here.received) > LINK.down_cycles  # the other direction continues
        there.take = 0.3
        await bench.run(100)
        await bench.drain(500)
        assert bench.values("replays") == [0, 0] and bench.no_errors()


@cocotb.test()
async def the_end_of_any_count(dut):
    """Replays and corrupt frames are counted at any value of the counters: the bench starts them
    from random numbers.
    """
    bench = Connection(dut, KINDS["corrupt"])
    await bench.start()
    for _ in range(scaled(_COUNTS)):
        bench.preset_counters()
        await bench.run(60)
        bench.fill_counters()
        await bench.run(60)
    await bench.drain(20000)


@cocotb.test()
async def dead_wire_is_reported_once_and_recovers(dut):
    """Packets wait on both sides, so each side acknowledges the other's packets."""
    for dead in ([0], [1], [0, 1]):
        bench = Connection(dut)
        await bench.start()
        for reports in (1, 2):
            await bench.run(LINK.timeout_cycles + 40)
            assert bench.values("down") == [0, 0]
            since = bench.cycle
            for index in dead:
                bench.wires[index].faults = DEAD
            await bench.run(LINK.down_cycles + 2 * LATE_CYCLES)
            for side in bench.sides:
                bench.check_report(side, since)
                assert len(side.errors) == reports
            assert bench.values("down") == [1, 1]
            cover("dead wire reported")
            bench.set_faults(CLEAN)
        before = [len(side.received) for side in bench.sides]
        await bench.drain(500)
        after = [len(side.received) for side in bench.sides]
        cover("works again after a report", all(a > b for a, b in zip(after, before, strict=True)))


@cocotb.test()
async def busy_wire(dut):
    """A flit waits for a busy wire, and no packet is sent again; a wire that accepts no flit is
    reported as down.
    """
    bench = Connection(dut)
    await bench.start()  # on a free wire: a session that begins too late is reported as down
    bench.set_faults(Faults(busy=0.5))
    await bench.run(200)
    assert bench.values("replays") == [0, 0] and bench.no_errors()
    bench.set_faults(CLEAN)
    # The time counts from the last acknowledgement, and a flit that waited carries an old one.
    await bench.run(LATE_CYCLES)
    since = bench.cycle
    bench.wires[0].faults = Faults(busy=1)
    await bench.run(LINK.down_cycles + 2 * LATE_CYCLES)
    for side in bench.sides:
        bench.check_report(side, since)
        cover("busy wire reported", len(side.errors) == 1)
    bench.set_faults(CLEAN)
    await bench.drain(500)
