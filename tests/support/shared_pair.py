"""Two endpoints that several channels share, with a faulty link between them."""

import random
from functools import cache

from amaranth.hdl import Module
from amaranth.sim import Simulator

from rtl.interface.layouts import LinkPacket
from rtl.link.endpoint import LinkEndpoint
from rtl.link.layouts import Flit
from tb.link_endpoint.dut import PARAMETERS as P
from tb.link_endpoint.wire import Wire

__all__ = ["Shared"]

_PACKET_BITS = LinkPacket(P).size


@cache
def _simulator(link, one_way):
    duts = (
        [LinkEndpoint(P, link, receives=False), LinkEndpoint(P, link, sends=False)]
        if one_way
        else [LinkEndpoint(P, link) for _ in range(2)]
    )
    m, played = Module(), {}
    m.submodules += duts
    sim = Simulator(m)
    sim.add_clock(1e-9)

    async def run(ctx):
        await played["bench"](ctx)

    sim.add_testbench(run)
    return sim, duts, played


class Shared:
    """Each channel's packets are offered to side 0 at the rate ``offer`` and leave side 1 at the
    rate ``take``, of which there is one for each channel. Side 1 offers nothing."""

    def __init__(self, seed, faults, *, link, one_way):
        print("seed", seed)
        self.rng = random.Random(seed)
        self._sim, self._duts, self._played = _simulator(link, one_way)
        bits = Flit(LinkPacket(P), link).size
        # Of its own, so that a loss changes nothing else.
        self._wire_rng = random.Random(seed + 1)
        self._wires = [Wire(self._wire_rng, faults, bits) for _ in range(2)]
        self._layout = Flit(LinkPacket(P), link)
        self.take = [1.0] * link.channels
        self._offer = [1.0] * link.channels
        self._offered = [None] * link.channels
        self._sent = [[] for _ in range(link.channels)]
        self._received = [[] for _ in range(link.channels)]
        self._lost = (0, None)  # channel, and how many of its flits with packets go before
        self._flits = 0
        self._cycle = 0

    def run(self, bench):
        async def run(ctx):
            self._ctx = ctx
            offers, self._offer = self._offer, [0] * len(self._offer)
            while not all(ctx.get(dut.open) for dut in self._duts):
                await self.step(1)
            await self.step(40)
            self._offer = offers
            await bench(self)

        if self._played:
            self._sim.reset()
        self._played["bench"] = run
        self._sim.run()
        for sent, received in zip(self._sent, self._received, strict=True):
            packets = [packet for _, packet in received]
            assert packets == sent[: len(packets)]

    def set_rates(self, offer, take):
        self._offer = [offer] * len(self._offer)
        self.take = [take] * len(self.take)

    def lose(self, channel, number):
        """The flit with this channel's packet of this number, once."""
        self._lost = (channel, number)

    async def step(self, cycles):
        for _ in range(cycles):
            self._drive()
            self._sample()
            self._cycle += 1
            await self._ctx.tick()

    def _drive(self):
        ctx, (here, there), rng = self._ctx, self._duts, self.rng
        for number, port in enumerate(here.packets):
            if self._offered[number] is None and rng.random() < self._offer[number]:
                self._offered[number] = rng.getrandbits(_PACKET_BITS)
            ctx.set(port.valid, self._offered[number] is not None)
            ctx.set(port.p.as_value(), self._offered[number] or 0)
            ctx.set(there.o[number].ready, rng.random() < self.take[number])
        for index, dut in enumerate(self._duts):
            arrives = self._wires[1 - index].take(self._cycle)
            ctx.set(dut.receive.valid, arrives is not None)
            ctx.set(dut.receive.p.as_value(), arrives or 0)
            ctx.set(dut.send.ready, self._wire_rng.random() >= self._wires[index].faults.busy)

    def _sample(self):
        ctx, (here, there) = self._ctx, self._duts
        for number, port in enumerate(here.packets):
            if ctx.get(port.valid & port.ready):
                self._sent[number].append(self._offered[number])
                self._offered[number] = None
            port = there.o[number]
            if ctx.get(port.valid & port.ready):
                self._received[number].append((self._cycle, ctx.get(port.p.as_value())))
        for dut, wire in zip(self._duts, self._wires, strict=True):
            if ctx.get(dut.send.valid & dut.send.ready) and not self._loses(dut):
                wire.put(ctx.get(dut.send.p.as_value()), self._cycle)

    def _loses(self, dut):
        channel, number = self._lost
        body = dut.send.p.body
        if dut is not self._duts[0] or number is None:
            return False
        if not self._ctx.get(body.data & (body.channel == channel)):
            return False
        self._flits += 1
        if self._flits <= number:
            return False
        self._lost = (0, None)
        return True

    async def drain(self, cycles):
        """Until everything has arrived; nothing more follows."""
        self._offer = [0] * len(self._offer)
        self.take = [1.0] * len(self.take)
        while cycles > 0 and (any(self._offered) or self.sent() != self.received()):
            cycles -= 10
            await self.step(10)
        assert self.sent() == self.received()

    def sent(self):
        return [len(packets) for packets in self._sent]

    def received(self):
        return [len(packets) for packets in self._received]

    def deliveries(self):
        """Of each channel: cycle and packet."""
        return self._received

    def replays(self):
        return self._ctx.get(self._duts[0].replays)

    def tell(self, words):
        names = ("generation", "credit_limit")
        values = [dict(zip(names, each, strict=True)) for each in words]
        self._ctx.set(self._duts[0].tell, values)

    def told(self):
        words = self._ctx.get(self._duts[1].told)
        return [(word.generation, word.credit_limit) for word in words]
