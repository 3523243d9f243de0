"""Receiver of a link flow: selects the next packet in order from the arriving flits."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .layouts import CheckedFlit, ReverseState
from .parameters import LinkParameters

__all__ = ["LinkReceiver"]


class LinkReceiver(wiring.Component):
    """Receiving half of a channel's flow. A packet passes in the cycle of its arrival.

    The sequence number of each flit implies the packets sent before it. If one of these has not
    arrived, the state reports it as missing until the awaited packet arrives.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Packet.

    Members
    -------
    i : In(stream of :class:`CheckedFlit`)
        Flits, always accepted.
    o : Out(stream)
        Packets in order, each once. Always accepted: there is space up to the limit.
    leave : In(1)
        A packet leaves the buffer behind ``o``.
    state : Out(:class:`ReverseState`)
        State for the other side. Registers.
    changes : Out(1)
        The state changes in this cycle. The receiver has no other registers.
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
            # Half of the numbers lie behind, and belong to packets that have arrived before.
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
