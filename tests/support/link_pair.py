"""Two link endpoints with a faulty link between them, in Amaranth's simulator."""

import random
from bisect import bisect
from functools import cache

from amaranth.hdl import Cat, Module, ResetInserter, Signal

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import LinkPacket
from rtl.link.endpoint import LinkEndpoint
from rtl.link.layouts import Flit
from tb.link_endpoint.dut import LINK
from tb.link_endpoint.dut import PARAMETERS as P
from tb.link_endpoint.traffic import Traffic
from tb.link_endpoint.wire import CLEAN, Framing, Wire
from tests.support.simulation import simulate

__all__ = ["LINK", "P", "Pair", "Side"]

PACKET_BITS = LinkPacket(P).size
REPORT_CYCLES = 6  # most cycles from the end of a session until the report


class Side:
    """Driver and observer of one endpoint.

    ``sent`` and ``received`` hold pairs of cycle and packet, ``opened`` the cycles in which
    sessions begin, ``closed`` the first cycles without a session, and ``renewed`` the cycles in
    which the side is reset or restarted. ``framing`` judges the frames that arrive.
    """

    def __init__(self, dut, reset, link, rng):
        self.dut, self.reset = dut, reset
        self.offer = self.take = 1.0  # probabilities per cycle
        self.most = None  # packets to offer in all
        self.sent, self.received, self.errors = [], [], []
        self.opened, self.closed, self.renewed = [], [], []
        self.open = 0
        self._rng = rng
        self.traffic, self.framing = Traffic(rng, LinkPacket(P)), Framing()
        self._offered = self._waiting = self._stuck = None
        self._outputs = [
            (dut.packets[0].ready, 1),
            (dut.o[0].valid, 1),
            (dut.o[0].p.as_value(), PACKET_BITS),
            (dut.send.valid, 1),
            (dut.send.p.as_value(), Flit(LinkPacket(P), link).size),
            (dut.error.valid, 1),
            (dut.error.report.code.as_value(), 5),
            (dut.open, 1),
        ]
        self._all = Cat(signal for signal, _ in self._outputs)
        self._packet = dut.packets[0].p.as_value()
        self._flit = dut.receive.p.as_value()

    def drive(self, ctx, arrives, busy):
        rng = self._rng
        self._ready = rng.random() < self.take
        self._busy = busy
        may_offer = self.most is None or len(self.sent) < self.most
        if self._offered is None and may_offer and rng.random() < self.offer:
            self._offered = self.traffic.next()
        ctx.set(self.dut.packets[0].valid, self._offered is not None)
        ctx.set(self._packet, self._offered or 0)
        ctx.set(self.dut.o[0].ready, self._ready)
        ctx.set(self.dut.send.ready, not busy)
        ctx.set(self.dut.receive.valid, arrives is not None)
        ctx.set(self._flit, arrives or 0)

    def sample(self, ctx, cycle):
        """Return the flit that the side sends in this cycle, or None."""
        bits = ctx.get(self._all)
        values = []
        for _, width in self._outputs:
            values.append(bits & ((1 << width) - 1))
            bits >>= width
        takes, gives, packet, sends, flit, error, code, is_open = values
        if is_open and not self.open:
            self.opened.append(cycle)
        if self.open and not is_open:
            self.closed.append(cycle)
        self.open = is_open
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

    def forget(self, cycle):
        """Drop the payloads on offer: the side is reset from this cycle on."""
        self._waiting = self._stuck = None
        if self.open:
            self.closed.append(cycle)
        self.open = 0

    def check_reports(self):
        """Require that the side reports each end of a session once that it did not cause itself,
        unless it is reset before the report."""
        resets = [cycle for cycle, code in self.errors if code == ErrorCode.LINK_RESET.value]
        for cycle in self.closed:
            reports = [one for one in resets if 0 <= one - cycle <= REPORT_CYCLES]
            causes = [one for one in self.renewed if -1 <= one - cycle <= REPORT_CYCLES]
            assert len(reports) == 1 or (causes and not reports), (cycle, reports, causes)
        for cycle in resets:
            assert any(0 <= cycle - one <= REPORT_CYCLES for one in self.closed), cycle

    def sessions(self, entries):
        """Return the packets of each session."""
        found = [[] for _ in self.opened]
        for cycle, packet in entries:
            found[bisect(self.opened, cycle) - 1].append(packet)
        return found

    def finish(self):
        """Offer nothing more, and take everything."""
        self.most = len(self.sent) + (self._offered is not None)
        self.take = 1.0


def _steady(before, now, taken):
    """Check that a stream still offers a payload it has to hold; return the one to hold next."""
    assert before is None or now == before
    return None if taken else now


@cache
def _design(link):
    """Return a design of two endpoints, the endpoints, and their resets."""
    duts, resets = [LinkEndpoint(P, link) for _ in range(2)], [Signal() for _ in range(2)]
    m = Module()
    m.submodules += [ResetInserter(reset)(dut) for dut, reset in zip(duts, resets, strict=True)]
    return m, duts, resets


class Pair:
    """Two sides; ``channels[i]`` leads from side ``i`` to the other.

    ``runs`` is the share of packets that have the next atom.
    """

    def __init__(self, seed, faults=CLEAN, *, link=LINK, runs=0.7):
        print("seed", seed)
        self.rng = random.Random(seed)
        self._design, duts, resets = _design(link)
        self.sides = [
            Side(dut, reset, link, self.rng) for dut, reset in zip(duts, resets, strict=True)
        ]
        for side in self.sides:
            side.traffic.runs = runs
        self.channels = [Wire(self.rng, faults, LinkPacket(P), link) for _ in range(2)]
        self._marks = Flit(LinkPacket(P), link).size - 2  # place of `first` and `last`
        self.cycle = 0

    def run(self, bench, *, opens=True):
        """Run ``bench(pair)``, from the first session on unless ``opens`` is false.

        Afterwards, the packets that arrived in each session must be those sent in one session, once
        and in order, and each end of a session must have been reported.
        """

        async def run(ctx):
            self._ctx = ctx
            if opens:
                await self.open()
            await bench(self)

        simulate(self._design, run)
        for here, there in (self.sides, self.sides[::-1]):
            here.check_reports()
            sent = iter(here.sessions(here.sent))
            for arrived in there.sessions(there.received):
                if arrived:
                    assert any(packets[: len(arrived)] == arrived for packets in sent)

    async def open(self):
        """Run without packets until both sides are in a session."""
        offers = [side.offer for side in self.sides]
        for side in self.sides:
            side.offer = 0
        for _ in range(100):
            if self.count("open") == [1, 1]:
                break
            await self.step(10)
        assert self.count("open") == [1, 1]
        await self.step(20)  # the first limit arrives
        for side, offer in zip(self.sides, offers, strict=True):
            side.offer = offer

    async def restart(self, *indices, reset):
        """Reset sides, or make them begin a new session, in one cycle."""
        sides = [self.sides[index] for index in indices]
        signals = [side.reset if reset else side.dut.restart for side in sides]
        for side, signal in zip(sides, signals, strict=True):
            side.renewed.append(self.cycle)
            self._ctx.set(signal, 1)
        await self.step(1)
        for side, signal in zip(sides, signals, strict=True):
            self._ctx.set(signal, 0)
            if reset:
                side.forget(self.cycle)

    async def step(self, cycles):
        ctx, sides, channels = self._ctx, self.sides, self.channels
        for _ in range(cycles):
            for index, side in enumerate(sides):
                busy = self.rng.random() < channels[index].faults.busy
                arrives = channels[1 - index].take(self.cycle)
                if arrives is not None:
                    side.framing.arrive(
                        first=bool(arrives >> self._marks & 1),
                        last=bool(arrives >> self._marks + 1),
                        spoiled=channels[1 - index].spoils,
                    )
                side.drive(ctx, arrives, busy)
            for side, channel in zip(sides, channels, strict=True):
                flit = side.sample(ctx, self.cycle)
                if flit is not None:
                    channel.put(flit, self.cycle)
            self.cycle += 1
            await ctx.tick()

    async def drain(self, cycles):
        """Offer nothing more, and run until everything has arrived, for at most ``cycles``."""
        for side in self.sides:
            side.finish()
        while cycles > 0 and not self._done():
            cycles -= 10
            await self.step(10)
        await self.step(100)
        assert self._done()

    def _done(self):
        return all(
            here.open
            and len(here.sent) == here.most
            and here.sessions(here.sent)[-1] == there.sessions(there.received)[-1]
            for here, there in (self.sides, self.sides[::-1])
        )

    def set_restart(self, index, value):
        self.sides[index].renewed.append(self.cycle)
        self._ctx.set(self.sides[index].dut.restart, value)

    def set_words(self, index, words):
        """Send generation and limit of each context to the other side from now on."""
        names = ("generation", "credit_limit")
        values = [dict(zip(names, each, strict=True)) for each in words]
        self._ctx.set(self.sides[index].dut.local_words, values)

    def peer_words(self, index):
        """Return generation and limit of each context that the side received."""
        words = self._ctx.get(self.sides[index].dut.peer_words)
        return [(word.generation, word.credit_limit) for word in words]

    def count(self, name):
        """Return an output of both endpoints."""
        return [self._ctx.get(getattr(side.dut, name)) for side in self.sides]
