# amaranth: UnusedElaboratable=no
"""Two endpoints, and between them wires that do what wires do."""

import random

import cocotb

from rtl.interface.encodings import ErrorCode
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.inside import BLOCK_BITS, fill, preset
from tb.link_endpoint.dut import LINK, SIDES, Endpoints
from tb.link_endpoint.side import FLIT, Side
from tb.link_endpoint.wire import CLEAN, DEAD, KINDS, Faults, Wire
from tb.stream import StreamChecker

make_dut = Endpoints

_INPUTS = inputs_of(make_dut())
_PORTS = ("packets__0", "o__0", "send", "receive")
_STREAMS = [f"{side}__{name}" for side in SIDES for name in _PORTS]
_CYCLES = 120
_COUNTS = 8  # beginnings
_PACES = 4
_COUNTERS = {"corrupt": "corrupt_count", "replays": "replay_count"}  # ports, and what is behind
_COUNTER_BITS = 32
_RATES = (0.1, 0.5, 1)
_TELL_RATES = (0, 0.02, 0.5)
_LATE_CYCLES = 24  # of a report: what was on its way, and the pipelines
_QUIET_CYCLES = 2 * LINK.lifetime_cycles
_RESTARTS = 12

expect(
    "full rate",
    "went back",
    "dead wire reported",
    "works again after a report",
    "silence reported",
    "busy wire reported",
    "reset",
    "restart",
    "begins anew while a session begins",
    "begins anew in a young session",
    *(f"{name} carries far" for name in _COUNTERS),
)


class _Bench:
    """Both sides; ``wires[i]`` from side ``i`` to the other."""

    def __init__(self, dut, faults: Faults = CLEAN, *, number: int = 0):
        self.dut, self.rng = dut, random.Random(cocotb.RANDOM_SEED + number)
        self.sides = [Side(dut, name, self.rng) for name in SIDES]
        self.wires = [Wire(self.rng, faults, FLIT.width) for _ in SIDES]
        self.cycle = 0
        # Of each side: what the counters say, and how often they have counted.
        self._counters = {(side, name): 0 for side in SIDES for name in _COUNTERS}
        self._counted = dict.fromkeys(self._counters, 0)
        self._missed = dict.fromkeys(SIDES, 0)  # corrupt flits that came just before a reset

    async def start(self, *, opens: bool = True) -> None:
        """Reset both sides, and wait for their first session; no packet is offered until then."""
        await reset(self.dut, _INPUTS)
        self.checker = StreamChecker(self.dut, _STREAMS)
        if opens:
            await self.open()

    async def open(self) -> None:
        """Until both sides have a session, and a little longer: the first credits arrive."""
        offers = [side.offer for side in self.sides]
        for side in self.sides:
            side.offer = 0
        most = 40 * _QUIET_CYCLES
        while most > 0 and not all(side.open for side in self.sides):
            await self.run(10)
            most -= 10
        assert most > 0, "No session begins"
        await self.run(20)
        for side, offer in zip(self.sides, offers, strict=True):
            side.offer = offer

    async def restart(self, index: int, *, reset: bool) -> None:
        """Reset a side alone, or let it begin anew."""
        side, name = self.sides[index], SIDES[index]
        port = getattr(self.dut, f"{name}_reset" if reset else f"{name}__restart")
        port.value = 1
        await self.run(1)
        port.value = 0
        self._missed[name] += side.restart(reset=reset)
        if reset:
            self.checker = StreamChecker(self.dut, _STREAMS)
            for counter in _COUNTERS:
                self._counters[name, counter] = 0
        cover("reset" if reset else "restart")

    def set_faults(self, faults: Faults) -> None:
        for wire in self.wires:
            wire.faults = faults

    def set_paces(self) -> None:
        for side in self.sides:
            side.offer, side.take = (self.rng.choice(_RATES) for _ in range(2))
            side.tell = self.rng.choice(_TELL_RATES)

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            for index, (side, wire) in enumerate(zip(self.sides, self.wires, strict=True)):
                incoming = self.wires[1 - index]
                before = incoming.corrupted
                flit = incoming.take(self.cycle)
                corrupt = incoming.corrupted > before
                busy = self.rng.random() < wire.faults.busy
                side.drive(self.cycle, flit, corrupt=corrupt, busy=busy)
            await settled()
            self.checker.sample()
            self._check_counters()
            for index, (side, wire) in enumerate(zip(self.sides, self.wires, strict=True)):
                flit = side.check(self.cycle, self.sides[1 - index])
                if flit is not None:
                    wire.put(flit, self.cycle)
            self.cycle += 1
            await next_cycle(self.dut)

    async def drain(self, most: int) -> None:
        """Until everything has arrived; nothing more follows."""
        here, there = self.sides
        for side in self.sides:
            side.finish()
        while most > 0 and not (here.done(there) and there.done(here)):
            await self.run(10)
            most -= 10
        assert here.done(there) and there.done(here), "Not everything arrives"
        self.set_faults(CLEAN)
        await self.run(60)  # of what is late; nothing comes of it
        corrupt = [self._counted[side, "corrupt"] + self._missed[side] for side in SIDES]
        assert corrupt == [wire.corrupted for wire in self.wires[::-1]]
        assert self.values("down") == [0, 0]

    def _check_counters(self) -> None:
        """They go on by one, or not at all."""
        for (side, name), before in self._counters.items():
            now = int(getattr(self.dut, f"{side}__{name}").value)
            steps = (now - before) % (1 << _COUNTER_BITS)
            assert steps <= 1, f"{name} of {side} goes from {before:#x} to {now:#x}"
            self._counters[side, name] = now
            self._counted[side, name] += steps
            cover(f"{name} carries far", steps and before ^ now > 1 << _COUNTER_BITS // 2)

    def preset_counters(self) -> None:
        """Let them go on from random numbers, of which the lower bits are ones."""
        self._check_counters()  # what the last cycle counted
        for side, name in self._counters:
            ones = (1 << self.rng.randrange(1, _COUNTER_BITS)) - 1
            value = self.rng.getrandbits(_COUNTER_BITS) | ones
            # Half of them have a block that gets full first.
            value -= self.rng.getrandbits(1) << self.rng.randrange(0, _COUNTER_BITS, BLOCK_BITS)
            value %= 1 << _COUNTER_BITS
            preset(self.dut, f"{side}.{_COUNTERS[name]}", value)
            self._counters[side, name] = value

    def fill_counters(self) -> None:
        """Let them go on with ones in some of their lower blocks."""
        self._check_counters()
        for side, name in self._counters:
            bits = self.rng.randrange(BLOCK_BITS, _COUNTER_BITS, BLOCK_BITS)
            self._counters[side, name] = fill(self.dut, f"{side}.{_COUNTERS[name]}", bits)

    def values(self, name: str) -> list[int]:
        return [side.value(name) for side in self.sides]

    def no_errors(self) -> bool:
        return not any(side.errors for side in self.sides)

    def check_report(self, side: Side, since: int) -> None:
        """One more came, in time after ``since``, when the wire stopped working."""
        cycle, code = side.errors[-1]
        assert code == ErrorCode.LINK_DOWN
        assert since + LINK.down_cycles <= cycle <= since + LINK.down_cycles + _LATE_CYCLES


@cocotb.test()
async def clean_wire_at_full_rate(dut):
    """A packet per cycle both ways, at the other side nine cycles and the wire's later."""
    latency = 3
    bench = _Bench(dut, Faults(latency=latency))
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
    """Everything once and in order, both ways at once, whatever the rates of both sides are."""
    for faults in KINDS.values():
        bench = _Bench(dut, faults)
        await bench.start()
        for _ in range(4):
            bench.set_paces()
            await bench.run(scaled(_CYCLES) // 4)
        await bench.drain(20000)
        cover("went back", min(bench.values("replays")))


@cocotb.test()
async def clean_wire_at_any_rate(dut):
    """Each packet is sent once, however seldom they come or are taken."""
    for number in range(scaled(_PACES)):
        bench = _Bench(dut, number=number)
        await bench.start()
        bench.set_paces()
        await bench.run(_CYCLES)
        await bench.drain(500)
        assert bench.values("replays") == [0, 0] and bench.no_errors()


@cocotb.test()
async def either_side_begins_anew(dut):
    """What is delivered was sent in the same session, and the other side reports it."""
    for number, faults in enumerate((CLEAN, KINDS["all"], KINDS["reorder"])):
        bench = _Bench(dut, faults, number=number)
        await bench.start()
        for _ in range(scaled(_RESTARTS)):
            bench.set_paces()
            await bench.run(bench.rng.choice([1, 40, _QUIET_CYCLES, 3 * _QUIET_CYCLES]))
            await bench.run(bench.rng.randint(1, 20))
            index = bench.rng.randrange(2)
            opened = bench.sides[index].opened
            young = opened is not None and bench.cycle < opened + _QUIET_CYCLES
            cover("begins anew while a session begins", opened is None)
            cover("begins anew in a young session", young)
            await bench.restart(index, reset=bench.rng.random() < 0.5)
        await bench.open()
        await bench.drain(20000)


@cocotb.test()
async def a_session_begins_in_time(dut):
    """After the quiet time of the side that hears of it, which it reports at once."""
    for index in range(2):
        bench = _Bench(dut, number=index)
        await bench.start()
        here, there = bench.sides[index], bench.sides[1 - index]
        for reset_alone in (False, True):
            await bench.run(_QUIET_CYCLES)  # the session is not young any more
            before, since = len(there.errors), bench.cycle
            await bench.restart(index, reset=reset_alone)
            await bench.run(_LATE_CYCLES)
            ((_, code),) = there.errors[before:]
            assert code == ErrorCode.LINK_RESET and not here.errors
            await bench.run(_QUIET_CYCLES + _LATE_CYCLES + LINK.idle_cycles)
            for side in bench.sides:
                assert since + _QUIET_CYCLES <= side.opened <= bench.cycle
        await bench.drain(500)
        assert len(there.errors) == 2


@cocotb.test()
async def back_pressure(dut):
    """Who does not take stops the other side, without a loss, a replay or an error."""
    for number in range(4):
        bench = _Bench(dut, number=number)
        await bench.start()
        here, there = bench.sides[:: 1 if number % 2 else -1]
        await bench.run(bench.rng.randint(0, 60))
        there.take = 0
        await bench.run(LINK.down_cycles + 2 * _LATE_CYCLES)
        assert len(here.sent) - len(there.received) == LINK.receive_depth + LINK.replay_depth
        assert len(here.received) > LINK.down_cycles  # the other direction goes on
        there.take = 0.3
        await bench.run(100)
        await bench.drain(500)
        assert bench.values("replays") == [0, 0] and bench.no_errors()


@cocotb.test()
async def the_end_of_any_count(dut):
    """Replays and corrupt flits are counted also where that takes days: from random numbers on."""
    bench = _Bench(dut, KINDS["corrupt"])
    await bench.start()
    for _ in range(scaled(_COUNTS)):
        bench.preset_counters()
        await bench.run(60)
        bench.fill_counters()
        await bench.run(60)
    await bench.drain(20000)


@cocotb.test()
async def dead_wire_is_reported_once_and_recovers(dut):
    """Packets wait on both sides, so both acknowledge, whichever direction it is."""
    for dead in ([0], [1], [0, 1]):
        bench = _Bench(dut)
        await bench.start()
        for reports in (1, 2):
            await bench.run(60)
            assert bench.values("down") == [0, 0]
            since = bench.cycle
            for index in dead:
                bench.wires[index].faults = DEAD
            await bench.run(LINK.down_cycles + 2 * _LATE_CYCLES)
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
async def silence(dut):
    """A wire without packets stays up; one on which nothing comes at all is reported."""
    bench = _Bench(dut)
    await bench.start()
    for side in bench.sides:
        side.most = 0
    await bench.run(LINK.down_cycles + 2 * _LATE_CYCLES)
    assert bench.values("down") == [0, 0] and bench.no_errors()
    since = bench.cycle
    bench.set_faults(DEAD)
    await bench.run(LINK.down_cycles + 2 * _LATE_CYCLES)
    for side in bench.sides:
        bench.check_report(side, since)
        cover("silence reported", len(side.errors) == 1)


@cocotb.test()
async def busy_wire(dut):
    """A flit waits for it, and nothing is sent again; if it takes nothing at all, it is down."""
    bench = _Bench(dut)
    await bench.start()  # on a free wire: a session that begins too late is down
    bench.set_faults(Faults(busy=0.5))
    await bench.run(200)
    assert bench.values("replays") == [0, 0] and bench.no_errors()
    bench.set_faults(CLEAN)
    await bench.run(1)  # in which it takes something: the time counts from there
    since = bench.cycle
    bench.wires[0].faults = Faults(busy=1)
    await bench.run(LINK.down_cycles + 2 * _LATE_CYCLES)
    for side in bench.sides:
        bench.check_report(side, since)
        cover("busy wire reported", len(side.errors) == 1)
    bench.set_faults(CLEAN)
    await bench.drain(500)
