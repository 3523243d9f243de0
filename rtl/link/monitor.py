"""Monitor of a link's progress."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.gating import clock_gated
from rtl.lib.wide_counter import WideCounter

from .parameters import LinkParameters

__all__ = ["LinkMonitor"]


class LinkMonitor(wiring.Component):
    """Link monitor: reports a link as down after ``down_cycles`` without progress in a direction.

    Members
    -------
    intact : In(1)
        An intact frame arrived.
    waiting, progress : In(1)
        Packets wait for their acknowledgement or for a session; packets were acknowledged.
    down : Out(1)
        The link is down; falls with the next progress. Register.
    went_down : Out(1)
        First cycle of ``down``. Register.
    clock_enable : Out(1)
        Clock enable of all parts but the counter of silence, which has a clock gate of its own.
    """

    def __init__(self, link: LinkParameters):
        self._width = link.down_cycles.bit_length()
        super().__init__(
            {
                "intact": In(1),
                "waiting": In(1),
                "progress": In(1),
                "down": Out(1),
                "went_down": Out(1),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        silence = WideCounter(self._width)
        m.submodules.silence = clock_gated(silence)
        m.submodules.standstill = standstill = WideCounter(self._width)
        late = Signal()
        m.d.comb += [
            silence.step.eq(~silence.o[-1]),
            silence.clear.eq(self.intact),
            standstill.step.eq(self.waiting & ~standstill.o[-1]),
            standstill.clear.eq(self.progress | ~self.waiting),
            late.eq(silence.o[-1] | standstill.o[-1]),
            self.clock_enable.eq(standstill.clock_enable | (late != self.down) | self.went_down),
        ]
        m.d.sync += [self.down.eq(late), self.went_down.eq(late & ~self.down)]
        return m
