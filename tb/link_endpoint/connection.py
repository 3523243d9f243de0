"""Two endpoints, the wires between them, and the invariants of both."""

import random

import cocotb

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import LinkPacket
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, settled
from tb.inside import BLOCK_BITS, fill, preset
from tb.link_endpoint.dut import LINK, PARAMETERS, SIDES, Endpoints
from tb.link_endpoint.side import Side
from tb.link_endpoint.wire import CLEAN, Faults, Wire
from tb.stream import StreamChecker

__all__ = ["LATE_CYCLES", "QUIET_CYCLES", "Connection"]

LATE_CYCLES = 24
"""Cycles by which a report may come later, because of flits in flight and of the pipelines."""
QUIET_CYCLES = 2 * LINK.lifetime_cycles
_INPUTS = inputs_of(Endpoints())
_PORTS = ("packets__0", "o__0", "send", "receive")
_STREAMS = [f"{side}__{name}" for side in SIDES for name in _PORTS]
_COUNTERS = {
    "corrupt": "corrupt_count",
    "replays": "replay_count",
}  # ports, and the registers behind them
_COUNTER_BITS = 32
_RATES = (0.1, 0.5, 1)
_CHANGE_RATES = (0, 0.02, 0.5)

expect("reset", "restart", *(f"{name} carries far" for name in _COUNTERS))


class Connection:
    """Both sides and the wires between them; ``wires[i]`` leads from side ``i`` to the other."""

    def __init__(self, dut, faults: Faults = CLEAN, *, number: int = 0):
        self.dut, self.rng = dut, random.Random(cocotb.RANDOM_SEED + number)
        self.sides = [Side(dut, name, self.rng) for name in SIDES]
        self.wires = [Wire(self.rng, faults, LinkPacket(PARAMETERS), LINK) for _ in SIDES]
        self.cycle = 0
        # Values of each side's counters, and the number of counted events.
        self._counters = {(side, name): 0 for side in SIDES for name in _COUNTERS}
        self._counted = dict.fromkeys(self._counters, 0)

    async def start(self, *, opens: bool = True) -> None:
        """Reset both sides, and wait for their first session; no packet is offered until then."""
        await reset(self.dut, _INPUTS)
        self.checker = StreamChecker(self.dut, _STREAMS)
        if opens:
            await self.open()

    async def open(self) -> None:
        """Run until both sides have a session, and a little longer: the first credits arrive."""
        offers = [side.offer for side in self.sides]
        for side in self.sides:
            side.offer = 0
        most = 40 * QUIET_CYCLES
        while most > 0 and not all(side.open for side in self.sides):
            await self.run(10)
            most -= 10
        assert most > 0, "No session begins"
        await self.run(20)
        for side, offer in zip(self.sides, offers, strict=True):
            side.offer = offer

    async def restart(self, index: int, *, reset: bool) -> None:
        """Reset or restart one side alone."""
        side, name = self.sides[index], SIDES[index]
        corrupt = side.arriving.framing.corrupt
        port = getattr(self.dut, f"{name}_reset" if reset else f"{name}__restart")
        port.value = 1
        await self.run(1)
        port.value = 0
        side.restart(reset=reset)
        if reset:
            # The last ones are not counted any more.
            assert 0 <= corrupt - self._counted[name, "corrupt"] <= 2
            self._counted[name, "corrupt"] = 0
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
            side.changes = self.rng.choice(_CHANGE_RATES)

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            for index, (side, wire) in enumerate(zip(self.sides, self.wires, strict=True)):
                incoming = self.wires[1 - index]
                flit = incoming.take(self.cycle)
                busy = self.rng.random() < wire.faults.busy
                side.drive(self.cycle, flit, spoiled=incoming.spoils, busy=busy)
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
        """Run until every packet has arrived; check that no further packet follows."""
        here, there = self.sides
        for side in self.sides:
            side.finish()
        while most > 0 and not (here.done(there) and there.done(here)):
            await self.run(10)
            most -= 10
        assert here.done(there) and there.done(here), "Not everything arrives"
        self.set_faults(CLEAN)
        await self.run(60)  # until late flits have arrived, without effect
        corrupt = [self._counted[side, "corrupt"] for side in SIDES]
        assert corrupt == [side.arriving.framing.corrupt for side in self.sides]
        assert self.values("down") == [0, 0]

    def _check_counters(self) -> None:
        """Check that each counter advances by one, or not at all."""
        for (side, name), before in self._counters.items():
            now = int(getattr(self.dut, f"{side}__{name}").value)
            steps = (now - before) % (1 << _COUNTER_BITS)
            assert steps <= 1, f"{name} of {side} goes from {before:#x} to {now:#x}"
            self._counters[side, name] = now
            self._counted[side, name] += steps
            cover(f"{name} carries far", steps and before ^ now > 1 << _COUNTER_BITS // 2)

    def preset_counters(self) -> None:
        """Preset the counters to random numbers whose lower bits are ones."""
        self._check_counters()  # values of the last cycle
        for side, name in self._counters:
            ones = (1 << self.rng.randrange(1, _COUNTER_BITS)) - 1
            value = self.rng.getrandbits(_COUNTER_BITS) | ones
            # In half of the cases a block becomes full first.
            value -= self.rng.getrandbits(1) << self.rng.randrange(0, _COUNTER_BITS, BLOCK_BITS)
            value %= 1 << _COUNTER_BITS
            preset(self.dut, f"{side}.{_COUNTERS[name]}", value)
            self._counters[side, name] = value

    def fill_counters(self) -> None:
        """Fill some lower blocks of the counters with ones."""
        self._check_counters()
        for side, name in self._counters:
            bits = self.rng.randrange(BLOCK_BITS, _COUNTER_BITS, BLOCK_BITS)
            self._counters[side, name] = fill(self.dut, f"{side}.{_COUNTERS[name]}", bits)

    def values(self, name: str) -> list[int]:
        return [side.value(name) for side in self.sides]

    def no_errors(self) -> bool:
        return not any(side.errors for side in self.sides)

    def check_report(self, side: Side, since: int) -> None:
        """Check that one more report came, in time after cycle ``since``, in which the wire
        failed.
        """
        cycle, code = side.errors[-1]
        assert code == ErrorCode.LINK_DOWN
        assert since + LINK.down_cycles <= cycle <= since + LINK.down_cycles + LATE_CYCLES
