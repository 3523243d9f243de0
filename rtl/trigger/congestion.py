"""Congestion detector: samples one channel after another for a full DRAM queue."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.parameters import T3Parameters

__all__ = ["Congestion"]

# Steps of the level, of 512: break-even if an eighth of the samples is blocked.
_MORE, _LESS = 7, 1
_COUNT_BITS, _FADE_LOG2 = 9, 6


class Congestion(wiring.Component):
    """Congestion detector: averages, while communication is critical, how often the memory blocks a
    channel.

    Each sample takes the next channel, so the level follows the mean over the channels. All
    channels share one decision: a workgroup waits for the slowest channel, so channels with
    different priorities would each delay it.

    Members
    -------
    held_up : In(channels)
        Per channel: the DRAM queue is full, the channel has no packet to send, and no packet of
        another channel waits for the link.
    active, critical : In(1)
        Outputs of :class:`~rtl.trigger.criticality.Criticality`; both are low if no kernel runs.
    look : In(1)
        Strobe: sample the next channel.
    count : In(1)
        Strobe: count the last sample.
    fade : In(1)
        Strobe: a group of workgroups was sent while communication was not critical.
    congested : Out(1)
        The memory limits communication, regardless of priorities. Register.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    turn : Signal
        Next channel to sample.
    seen : Signal
        Last sample: the channel was blocked.
    level : Signal
        Saturating level from 0 to 511; from 256 on the memory counts as congested.
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
                "fade": In(1),
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
        with m.If(self.fade):
            high = self.level[_FADE_LOG2:]
            m.d.sync += self.level.eq(
                Mux(high.any(), Cat(self.level[:_FADE_LOG2], high - 1)[:_COUNT_BITS], 0)
            )
        more = self.level + _MORE
        with m.If(self.count):
            with m.If(~self.active & ~self.critical):
                m.d.sync += self.level.eq(0)
            with m.Elif(self.critical & self.seen):
                m.d.sync += self.level.eq(Mux(more[-1], (1 << _COUNT_BITS) - 1, more))
            with m.Elif(self.critical & (self.level != 0)):
                m.d.sync += self.level.eq(self.level - _LESS)
        return m
