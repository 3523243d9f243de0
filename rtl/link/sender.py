"""Numbers packets, keeps them until they are acknowledged, and sends them again if need be."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.lib.wide_counter import WideCounter

from .layouts import Numbered, ReverseState
from .parameters import LinkParameters

__all__ = ["LinkSender"]


class LinkSender(wiring.Component):
    """The sending half of a link endpoint: go-back-N.

    A packet that is taken in cycle *t* is at ``o`` in *t + 2* at the earliest. A reverse state is
    looked at in every second cycle only: each one tells all that those before it told.

    It goes back when the other side tells that the oldest packet is missing, once for each oldest
    packet: until that arrives, the other side tells the same. What is lost again is sent again
    after the timeout.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Of a packet.
    link : :class:`LinkParameters`

    Members
    -------
    packets : In(stream)
    o : Out(stream of :class:`Numbered`)
        Always valid: without a packet to send it has no ``data``, but the next one's number.
    reverse : In(stream of :class:`ReverseState`)
        From the other side. Always taken; any of it may be missing, late or repeated.
    progress : Out(1)
        Packets were acknowledged in this cycle.
    waiting : Out(1)
        Packets that the other side has room for are not acknowledged.
    replay : Out(1)
        In this cycle it goes back to the oldest packet that is not acknowledged.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    replay_memory : Memory
        The packets that are kept, each in the row of its number.
    base, upcoming, head : Signal
        Numbers of the oldest packet that is kept, of the next to send and of the next to take;
        ``base <= upcoming <= head``.
    limit : Signal
        The first number that the other side has no room for; ``upcoming <= limit``.
    kept : Signal
        Packets from ``base`` to ``head``.
    told : Signal
        The last reverse state.
    decides : Signal
        This is the second of two cycles, which decides on what the first has prepared.
    candidate : Signal
        The reverse state that is decided on.
    distance, ahead : Signal
        From ``base`` to its acknowledgement, and to ``upcoming``.
    behind : Signal
        Its limit lies before ``limit``.
    went_back : Signal
        It has gone back to ``base`` already.
    send, accept, again : Signal
        In this cycle a packet is sent; packets are acknowledged; the oldest one is missing, which
        was not known before.
    """

    def __init__(self, shape, link: LinkParameters):
        self._link = link
        super().__init__(
            {
                "packets": In(stream.Signature(shape)),
                "o": Out(stream.Signature(Numbered(shape, link), always_valid=True)),
                "reverse": In(stream.Signature(ReverseState(link), always_ready=True)),
                "progress": Out(1),
                "waiting": Out(1),
                "replay": Out(1),
            }
        )
        number = link.sequence_bits
        self.replay_memory = Memory(shape=shape, depth=link.replay_depth, init=[])
        self._write, self._read = self.replay_memory.write_port(), self.replay_memory.read_port()
        self.base = Signal(number)
        self.upcoming = Signal(number)
        self.head = Signal(number)
        self.limit = Signal(number)
        self.kept = Signal(range(link.replay_depth + 1))
        self.told = Signal(ReverseState(link))
        self.decides = Signal()
        self.candidate = Signal(ReverseState(link))
        self.distance = Signal(number)
        self.ahead = Signal(range(link.replay_depth + 1))
        self.behind = Signal()
        self.went_back = Signal()
        self.send = Signal()
        self.accept = Signal()
        self.again = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.replay_memory = self.replay_memory
        put = self._put(m)
        self._send(m)
        self._time(m)
        self._listen(m)
        self._decide(m)
        m.d.sync += self.kept.eq(
            Mux(self.accept, self.kept - self.distance[: len(self.kept)] + put, self.kept + put)
        )
        return m

    def _put(self, m: Module) -> Signal:
        """Take a packet, and keep it."""
        put, write = Signal(), self._write
        m.d.comb += [
            self.packets.ready.eq(~self.kept[-1]),
            put.eq(self.packets.valid & self.packets.ready),
            write.addr.eq(self.head),
            write.data.eq(self.packets.p),
            write.en.eq(put),
        ]
        with m.If(put):
            m.d.sync += self.head.eq(self.head + 1)
        return put

    def _send(self, m: Module) -> None:
        """The upcoming packet, if there is one that the other side has room for."""
        upcoming, limit, read = self.upcoming, self.limit, self._read
        m.d.comb += [
            self.send.eq(self.o.ready & (upcoming != self.head) & (upcoming != limit)),
            read.addr.eq(upcoming),
            read.en.eq(self.send),
            self.o.p.packet.eq(read.data),
        ]
        with m.If(self.o.ready):
            m.d.sync += [self.o.p.data.eq(self.send), self.o.p.sequence.eq(upcoming)]
        with m.If(self.send):
            m.d.sync += upcoming.eq(upcoming + 1)

    def _time(self, m: Module) -> None:
        """Go back also if nothing is acknowledged for too long."""
        m.submodules.timer = timer = WideCounter(self._link.timeout_cycles.bit_length())
        expired = timer.o[-1]
        m.d.comb += [
            self.replay.eq(self.again | (self.decides & ~self.accept & expired)),
            timer.step.eq(~expired),
            timer.clear.eq(self.accept | self.replay | (self.upcoming == self.base)),
        ]

    def _listen(self, m: Module) -> None:
        """Keep what the other side told last, and compare it in the first of two cycles."""
        with m.If(self.reverse.valid):
            m.d.sync += self.told.eq(self.reverse.p)
        m.d.sync += [
            self.decides.eq(~self.decides),
            self.waiting.eq((self.kept != 0) & (self.base != self.limit)),
        ]
        with m.If(~self.decides):
            m.d.sync += [
                self.candidate.eq(self.told),
                self.distance.eq(self.told.acknowledge - self.base),
                self.ahead.eq(self.upcoming - self.base),
                self.behind.eq((self.told.limit - self.limit)[len(self.limit) - 1]),
            ]

    def _decide(self, m: Module) -> None:
        """Act on it in the second cycle."""
        candidate, distance = self.candidate, self.distance
        is_new = Signal()
        m.d.comb += [
            is_new.eq(distance != 0),
            self.accept.eq(self.decides & is_new & (distance <= self.kept)),
            self.progress.eq(self.accept),
            self.again.eq(
                (self.accept | (self.decides & ~is_new & ~self.went_back))
                & candidate.missing
                & (self.ahead > distance)
            ),
        ]
        with m.If(self.accept):
            m.d.sync += [self.base.eq(candidate.acknowledge), self.went_back.eq(0)]
            # After going back, what was on its way then may be acknowledged beyond upcoming.
            with m.If(distance > self.ahead):
                m.d.sync += self.upcoming.eq(candidate.acknowledge)
        with m.If(self.replay):
            m.d.sync += [
                self.upcoming.eq(Mux(self.accept, candidate.acknowledge, self.base)),
                self.went_back.eq(1),
            ]
        # A limit that lies behind is an old one.
        with m.If(self.decides & ~self.behind):
            m.d.sync += self.limit.eq(candidate.limit)
