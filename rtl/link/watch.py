# amaranth: UnusedElaboratable=no
"""Notices that a link makes no progress."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.sleep import may_sleep
from rtl.lib.wide_counter import WideCounter

from .parameters import LinkParameters

__all__ = ["LinkWatch"]


class LinkWatch(wiring.Component):
    """Says that a link is down: in neither direction may ``down_cycles`` pass without progress.

    Parameters
    ----------
    link : :class:`LinkParameters`

    Members
    -------
    heard : In(1)
        An intact flit arrived.
    waiting, progress : In(1)
        Packets wait for their acknowledgement, or for a session; some were acknowledged.
    down : Out(1)
        Until there is progress again. A register.
    fell : Out(1)
        The first cycle of ``down``. A register.
    awake : Out(1)
        Without the silence that it counts, a room of its own: see
        :func:`~rtl.lib.sleep.may_sleep`.
    """

    def __init__(self, link: LinkParameters):
        self._width = link.down_cycles.bit_length()
        super().__init__(
            {
                "heard": In(1),
                "waiting": In(1),
                "progress": In(1),
                "down": Out(1),
                "fell": Out(1),
                "awake": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        silence = WideCounter(self._width)
        m.submodules.silence = may_sleep(silence, platform)
        m.submodules.standstill = standstill = WideCounter(self._width)
        late = Signal()
        m.d.comb += [
            silence.step.eq(~silence.o[-1]),
            silence.clear.eq(self.heard),
            standstill.step.eq(self.waiting & ~standstill.o[-1]),
            standstill.clear.eq(self.progress | ~self.waiting),
            late.eq(silence.o[-1] | standstill.o[-1]),
            self.awake.eq(standstill.awake | (late != self.down) | self.fell),
        ]
        m.d.sync += [self.down.eq(late), self.fell.eq(late & ~self.down)]
        return m
