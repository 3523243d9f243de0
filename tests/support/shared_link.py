"""Two endpoints that several channels share, with a faulty link between them."""

import random
from functools import cache

from amaranth.hdl import Module

from rtl.interface.layouts import LinkPacket
from rtl.link.endpoint import LinkEndpoint
from rtl.link.layouts import Flit
from tb.link_endpoint.dut import PARAMETERS as P
from tb.link_endpoint.traffic import Traffic
from tb.link_endpoint.wire import Wire
from tests.support.simulation import simulate

__all__ = ["Shared"]


@cache
def _design(link, one_way):
    """Return a design of two endpoints, and the endpoints."""
    duts = (
        [LinkEndpoint(P, link, receives=False), LinkEndpoint(P, link, sends=False)]
        if one_way
        else [LinkEndpoint(P, link) for _ in range(2)]
    )
    m = Module()
    m.submodules += duts
    return m, duts


class Shared:
    """Link that several channels share.

    Each channel's packets are offered to side 0 at its rate ``offer`` and leave side 1 at its rate
    ``take``. Side 1 offers nothing. ``runs`` is the share of packets that have the next atom.
    """

    def __init__(self, seed, faults, *, link, one_way, runs=0.0):
        print("seed", seed)
        self.rng = random.Random(seed)
        self._design, self._duts = _design(link, one_way)
        # A generator of its own, so that a loss changes nothing else.
        self._wire_rng = random.Random(seed + 1)
        self._wires = [Wire(self._wire_rng, faults, LinkPacket(P), link) for _ in range(2)]
        self._layout = Flit(LinkPacket(P), link)
        self._traffic = [Traffic(self.rng, LinkPacket(P)) for _ in range(link.channels)]
        for traffic in self._traffic:
            traffic.runs = runs
        self.take = [1.0] * link.channels
        self._offer = [1.0] * link.channels
        self._offered = [None] * link.channels
        self._sent = [[] for _ in range(link.channels)]
        self._received = [[] for _ in range(link.channels)]
        self._lost = (0, None)  # channel, and how many of its flits with packets go before
        self._flits = 0
        self.frames = []  # of side 0: channel, and number of flits with packets
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

        simulate(self._design, run)
        for sent, received in zip(self._sent, self._received, strict=True):
            packets = [packet for _, packet in received]
            assert packets == sent[: len(packets)]

    def set_rates(self, offer, take):
        self._offer = [offer] * len(self._offer)
        self.take = [take] * len(self.take)

    def lose(self, channel, number):
        """Lose the flit with this channel's packet of this number, once."""
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
                self._offered[number] = self._traffic[number].next()
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
                flit = ctx.get(dut.send.p.as_value())
                self._log(dut, self._layout.from_bits(flit))
                wire.put(flit, self._cycle)

    def _log(self, dut, flit):
        """Record the channel of each frame of side 0, and its flits with packets."""
        if dut is self._duts[0]:
            if flit.first:
                self.frames.append([flit.body.channel, flit.body.data])
            else:
                self.frames[-1][1] += 1

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
        """Offer nothing more, and run until everything has arrived."""
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
        """Return cycle and packet of each delivery, by channel."""
        return self._received

    def replays(self):
        return self._ctx.get(self._duts[0].replays)

    def set_words(self, words):
        names = ("generation", "credit_limit")
        values = [dict(zip(names, each, strict=True)) for each in words]
        self._ctx.set(self._duts[0].local_words, values)

    def peer_words(self):
        words = self._ctx.get(self._duts[1].peer_words)
        return [(word.generation, word.credit_limit) for word in words]
