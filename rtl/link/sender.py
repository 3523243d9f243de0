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

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Of a packet.
    link : :class:`LinkParameters`

    Members
    -------
    packets : In(stream)
    o : Out(stream of :class:`Numbered`)
        Always valid: without a packet to send it has no ``data``.
    reverse : In(stream of :class:`ReverseState`)
        From the other side. Always taken; any of it may be missing, late or repeated.
    progress : Out(1)
        Packets were acknowledged in this cycle.
    waiting : Out(1)
        Packets that the other side has room for are not acknowledged.
    replay : Out(1)
        In this cycle it goes back to the oldest packet that is not acknowledged.
    """

    def __init__(self, shape, link: LinkParameters):
        self._shape, self._link = shape, link
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

    def elaborate(self, platform):
        m = Module()
        link = self._link
        number = link.sequence_bits
        m.submodules.replay_memory = replay_memory = Memory(
            shape=self._shape, depth=link.replay_depth, init=[]
        )
        write, read = replay_memory.write_port(), replay_memory.read_port()
        m.submodules.timer = timer = WideCounter(link.timeout_cycles.bit_length())
        # base <= upcoming <= head, and upcoming <= limit; those from base to head are kept.
        base = Signal(number)
        upcoming = Signal(number)
        head = Signal(number)
        limit = Signal(number)
        kept = Signal(range(link.replay_depth + 1))
        told = Signal(ReverseState(link))
        # What the second of the two cycles decides on.
        decides = Signal()
        candidate = Signal(ReverseState(link))
        distance = Signal(number)
        ahead = Signal(range(link.replay_depth + 1))
        behind = Signal()  # the limit that is told

        put = Signal()
        send = Signal()
        accept = Signal()
        expired = timer.o[-1]
        m.d.comb += [
            self.packets.ready.eq(~kept[-1]),
            put.eq(self.packets.valid & self.packets.ready),
            write.addr.eq(head),
            write.data.eq(self.packets.p),
            write.en.eq(put),
            send.eq(self.o.ready & (upcoming != head) & (upcoming != limit)),
            read.addr.eq(upcoming),
            read.en.eq(send),
            accept.eq(decides & (distance != 0) & (distance <= kept)),
            self.progress.eq(accept),
            self.replay.eq(decides & ~accept & expired),
            timer.step.eq(~expired),
            timer.clear.eq(accept | self.replay | (upcoming == base)),
        ]
        # What the memory gave last, nothing at first, is not for a control flit: its CRC would be
        # unknown.
        with m.If(self.o.p.data):
            m.d.comb += self.o.p.packet.eq(read.data)
        with m.If(self.o.ready):
            m.d.sync += [self.o.p.data.eq(send), self.o.p.sequence.eq(upcoming)]
        with m.If(put):
            m.d.sync += head.eq(head + 1)
        with m.If(send):
            m.d.sync += upcoming.eq(upcoming + 1)

        with m.If(self.reverse.valid):
            m.d.sync += told.eq(self.reverse.p)
        m.d.sync += [
            decides.eq(~decides),
            self.waiting.eq((kept != 0) & (base != limit)),
        ]
        with m.If(~decides):
            m.d.sync += [
                candidate.eq(told),
                distance.eq(told.acknowledge - base),
                ahead.eq(upcoming - base),
                behind.eq((told.limit - limit)[number - 1]),
            ]
        with m.If(accept):
            m.d.sync += base.eq(candidate.acknowledge)
            # After going back, what was on its way then may be acknowledged beyond upcoming.
            with m.If(distance > ahead):
                m.d.sync += upcoming.eq(candidate.acknowledge)
        with m.If(self.replay):
            m.d.sync += upcoming.eq(base)
        # A limit that lies behind is an old one.
        with m.If(decides & ~behind):
            m.d.sync += limit.eq(candidate.limit)
        m.d.sync += kept.eq(Mux(accept, kept - distance[: len(kept)] + put, kept + put))
        return m
