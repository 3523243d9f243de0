"""Whether the memory holds communication up, seen in one channel after the other."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.parameters import T3Parameters

__all__ = ["Congestion"]

# Of 512: a channel that is held up in an eighth of the samples is the break-even.
_MORE, _LESS = 7, 1
_COUNT_BITS = 9


class Congestion(wiring.Component):
    """Counts, while communication is critical, in how many samples a channel is held up.

    A sample is of one channel, and the next one of the next channel, so the count follows the mean
    over the channels. The decision is one for all of them: a workgroup waits for the slowest
    channel, so channels that choose another order each cost it time.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    held_up : In(channels)
        Of each channel: the DRAM queue is full, it has nothing to send, and no other's packet waits
        for the link.
    active, critical : In(1)
        What :class:`~rtl.trigger.criticality.Criticality` tells; neither: no kernel runs.
    look : In(1)
        Strobe: look at the next channel.
    count : In(1)
        Strobe: count what was seen.
    congested : Out(1)
        The memory holds communication up, whoever goes first. A register.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    turn : Signal
        The next channel.
    seen : Signal
        The last channel was held up.
    level : Signal
        How surely the memory holds communication up, of 512: 256 and more is that it does.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._channels = p.channels
        super().__init__(
            {
                "held_up": In(p.channels),
                "active": In(1),
                "critical": In(1),
                "look": In(1),
                "count": In(1),
                "congested": Out(1),
            }
        )
        self.turn = Signal(range(p.channels))
        self.seen = Signal()
        self.level = Signal(_COUNT_BITS)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.congested.eq(self.level[-1])
        with m.If(self.look):
            last = self.turn == self._channels - 1
            m.d.sync += [
                self.seen.eq(self.held_up.bit_select(self.turn, 1)),
                self.turn.eq(Mux(last, 0, self.turn + 1)),
            ]
        more = self.level + _MORE
        with m.If(self.count):
            with m.If(~self.active & ~self.critical):
                m.d.sync += self.level.eq(0)
            with m.Elif(self.critical & self.seen):
                m.d.sync += self.level.eq(Mux(more[-1], (1 << _COUNT_BITS) - 1, more))
            with m.Elif(self.critical & (self.level != 0)):
                m.d.sync += self.level.eq(self.level - _LESS)
        return m
