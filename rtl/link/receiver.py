"""Picks from the flits that arrive the next packet in order."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .layouts import CheckedFlit, ReverseState
from .parameters import LinkParameters

__all__ = ["LinkReceiver"]


class LinkReceiver(wiring.Component):
    """The receiving half of a channel's flow. What arrives is passed on in the same cycle.

    Each flit tells by its number what was sent before it. If that has not arrived, the state says
    so until the awaited packet comes.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Of a packet.
    link : :class:`LinkParameters`

    Members
    -------
    i : In(stream of :class:`CheckedFlit`)
        Always taken.
    o : Out(stream)
        Packets in order, each once. Always taken: they have room up to the limit.
    leave : In(1)
        One packet of those that ``o`` gave has made room.
    state : Out(:class:`ReverseState`)
        For the other side; registers.
    changes : Out(1)
        In this cycle the state changes, and no other register ever does.
    """

    def __init__(self, shape, link: LinkParameters):
        self._link = link
        super().__init__(
            {
                "i": In(stream.Signature(CheckedFlit(shape, link), always_ready=True)),
                "o": Out(stream.Signature(shape, always_ready=True)),
                "leave": In(1),
                "state": Out(ReverseState(link), init={"limit": link.receive_depth}),
                "changes": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        body, state = self.i.p.body, self.state
        intact, misses = Signal(), Signal()
        ahead = Signal.like(body.sequence)
        m.d.comb += [
            intact.eq(self.i.valid & ~self.i.p.corrupt),
            ahead.eq(body.sequence - state.acknowledge),
            self.o.valid.eq(intact & body.data & (body.sequence == state.acknowledge)),
            self.o.p.eq(body.packet),
            # Half of the numbers lie behind: of what came before.
            misses.eq(intact & (ahead != 0) & ~ahead[-1]),
            self.changes.eq(self.o.valid | self.leave | (misses & ~state.missing)),
        ]
        with m.If(self.o.valid):
            m.d.sync += [state.acknowledge.eq(state.acknowledge + 1), state.missing.eq(0)]
        with m.Elif(misses):
            m.d.sync += state.missing.eq(1)
        with m.If(self.leave):
            m.d.sync += state.limit.eq(state.limit + 1)
        return m
