"""Two link endpoints with a faulty link between them, in Amaranth's simulator."""

import random

from amaranth.hdl import Cat, Module
from amaranth.sim import Simulator

from rtl.interface.layouts import Packet
from rtl.link.endpoint import LinkEndpoint
from rtl.link.layouts import Flit
from tb.link_endpoint.dut import LINK
from tb.link_endpoint.dut import PARAMETERS as P
from tb.link_endpoint.wire import CLEAN, Wire

__all__ = ["LINK", "P", "Pair", "Side"]

PACKET_BITS = Packet(P).size


class Side:
    """Drives and watches one endpoint; both lists hold ``(cycle, packet)``."""

    def __init__(self, link, rng):
        self.dut = dut = LinkEndpoint(P, link)
        self.offer = self.take = 1.0  # probabilities per cycle
        self.most = None  # packets to offer in all
        self.sent, self.received, self.errors = [], [], []
        self._rng = rng
        self._offered = self._waiting = self._stuck = None
        self._outputs = [
            (dut.packets.ready, 1),
            (dut.o.valid, 1),
            (dut.o.p.as_value(), PACKET_BITS),
            (dut.send.valid, 1),
            (dut.send.p.as_value(), Flit(Packet(P), link).size),
            (dut.error.valid, 1),
            (dut.error.report.code.as_value(), 4),
        ]
        self._all = Cat(signal for signal, _ in self._outputs)
        self._packet = dut.packets.p.as_value()
        self._flit = dut.receive.p.as_value()

    def drive(self, ctx, arrives, busy):
        rng = self._rng
        self._ready = rng.random() < self.take
        self._busy = busy
        room = self.most is None or len(self.sent) < self.most
        if self._offered is None and room and rng.random() < self.offer:
            self._offered = rng.getrandbits(PACKET_BITS)
        ctx.set(self.dut.packets.valid, self._offered is not None)
        ctx.set(self._packet, self._offered or 0)
        ctx.set(self.dut.o.ready, self._ready)
        ctx.set(self.dut.send.ready, not busy)
        ctx.set(self.dut.receive.valid, arrives is not None)
        ctx.set(self._flit, arrives or 0)

    def sample(self, ctx, cycle):
        """The flit that it sends in this cycle, or None."""
        bits = ctx.get(self._all)
        values = []
        for _, width in self._outputs:
            values.append(bits & ((1 << width) - 1))
            bits >>= width
        takes, gives, packet, sends, flit, error, code = values
        if self._offered is not None and takes:
            self.sent.append((cycle, self._offered))
            self._offered = None
        self._waiting = _steady(self._waiting, packet if gives else None, self._ready)
        if gives and self._ready:
            self.received.append((cycle, packet))
        self._stuck = _steady(self._stuck, flit if sends else None, not self._busy)
        if error:
            self.errors.append((cycle, code))
        return flit if sends and not self._busy else None

    def finish(self):
        """Offer nothing more, take everything."""
        self.most = len(self.sent) + (self._offered is not None)
        self.take = 1.0


def _steady(before, now, taken):
    """What a stream must still offer in the next cycle; and that it does in this one."""
    assert before is None or now == before
    return None if taken else now


class Pair:
    """Two sides, ``channels[i]`` from side ``i`` to the other."""

    def __init__(self, seed, faults=CLEAN, *, link=LINK):
        print("seed", seed)
        self.rng = random.Random(seed)
        self.sides = [Side(link, self.rng) for _ in range(2)]
        bits = Flit(Packet(P), link).size
        self.channels = [Wire(self.rng, faults, bits) for _ in range(2)]
        self.cycle = 0

    def run(self, bench):
        """Run ``bench(pair)``; what has arrived is then what was sent, once and in order."""
        m = Module()
        m.submodules += [side.dut for side in self.sides]
        sim = Simulator(m)
        sim.add_clock(1e-9)

        async def run(ctx):
            self._ctx = ctx
            await bench(self)

        sim.add_testbench(run)
        sim.run()
        for here, there in (self.sides, self.sides[::-1]):
            values = [value for _, value in there.received]
            assert values == [value for _, value in here.sent][: len(values)]

    async def step(self, cycles):
        ctx, sides, channels = self._ctx, self.sides, self.channels
        for _ in range(cycles):
            for index, side in enumerate(sides):
                busy = self.rng.random() < channels[index].faults.busy
                side.drive(ctx, channels[1 - index].take(self.cycle), busy)
            for side, channel in zip(sides, channels, strict=True):
                flit = side.sample(ctx, self.cycle)
                if flit is not None:
                    channel.put(flit, self.cycle)
            self.cycle += 1
            await ctx.tick()

    async def drain(self, cycles):
        """Until everything has arrived, for so many cycles at most; nothing more follows."""
        for side in self.sides:
            side.finish()
        while cycles > 0 and not self._done():
            cycles -= 10
            await self.step(10)
        await self.step(100)
        assert self._done()

    def _done(self):
        return all(
            len(here.sent) == here.most == len(there.received)
            for here, there in (self.sides, self.sides[::-1])
        )

    def count(self, name):
        """An output of both endpoints."""
        return [self._ctx.get(getattr(side.dut, name)) for side in self.sides]
