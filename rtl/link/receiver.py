"""Receiver of a link flow: selects the next packets in order from the arriving frames."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .layouts import CheckedFlit, ReverseState
from .parameters import LinkParameters

__all__ = ["LinkReceiver"]


class LinkReceiver(wiring.Component):
    """Receiving half of a channel's flow. A packet passes in the cycle of its arrival, and counts
    when its frame has arrived intact.

    The sequence number of each flit implies the packets sent before it. If one of these has not
    arrived, the state reports it as missing until the awaited packet arrives. Each flit has its own
    number, so a frame that repeats packets and continues with new ones counts from the awaited
    packet on.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Packet.

    Members
    -------
    i : In(stream of :class:`CheckedFlit`)
        Flits, always accepted.
    o : Out(stream)
        Packets of a frame in order, which count with ``commit``. Without space the packet and the
        rest of its frame are dropped; there is always space up to the limit.
    commit : Out(1)
        The packet at ``o`` is the last one of an intact frame.
    leave : In(1)
        A packet leaves the buffer behind ``o``.
    state : Out(:class:`ReverseState`)
        State for the other side. Registers.
    changes : Out(1)
        The state changes in this cycle.
    clock_enable : Out(1)

    Attributes
    ----------
    upcoming : Signal
        Number that the next flit of the frame must have to be taken. Proofs read it, but never
        drive it.
    """

    def __init__(self, shape, link: LinkParameters):
        self._link = link
        super().__init__(
            {
                "i": In(stream.Signature(CheckedFlit(shape, link), always_ready=True)),
                "o": Out(stream.Signature(shape)),
                "commit": Out(1),
                "leave": In(1),
                "state": Out(ReverseState(link), init={"limit": link.receive_depth}),
                "changes": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.upcoming = Signal(link.sequence_bits)

    def elaborate(self, platform):
        m = Module()
        body, state = self.i.p.body, self.state
        intact, takes, misses = Signal(), Signal(), Signal()
        awaited, ahead = Signal.like(body.sequence), Signal.like(body.sequence)
        m.d.comb += [
            # The numbers of an earlier frame count only if that frame was intact.
            awaited.eq(Mux(self.i.p.first, state.acknowledge, self.upcoming)),
            ahead.eq(body.sequence - awaited),
            self.o.valid.eq(self.i.valid & body.data & (body.sequence == awaited)),
            self.o.p.eq(body.packet),
            takes.eq(self.o.valid & self.o.ready),
            intact.eq(self.i.valid & self.i.p.last & ~self.i.p.corrupt),
            self.commit.eq(intact & takes),
            # Half of the numbers lie behind, and belong to packets that have arrived before.
            misses.eq(intact & (ahead != 0) & ~ahead[-1]),
            self.changes.eq(self.commit | self.leave | (misses & ~state.missing)),
            self.clock_enable.eq(self.i.valid | self.leave),
        ]
        with m.If(self.i.valid):
            m.d.sync += self.upcoming.eq(Mux(takes, body.sequence + 1, awaited))
        with m.If(self.commit):
            m.d.sync += [state.acknowledge.eq(body.sequence + 1), state.missing.eq(0)]
        with m.Elif(misses):
            m.d.sync += state.missing.eq(1)
        with m.If(self.leave):
            m.d.sync += state.limit.eq(state.limit + 1)
        return m
