"""Interrupts: what happened, until software has seen it."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Interrupts"]


class Interrupts(wiring.Component):
    """A bit for each kind of event.

    Parameters
    ----------
    kinds : int

    Members
    -------
    events : In(kinds)
        What happens in this cycle.
    clear : In(kinds)
        What software has seen. What happens again in this cycle stays.
    enable : In(kinds)
        What interrupts.
    pending : Out(kinds)
        What happened. A register.
    irq : Out(1)
        Something that interrupts is pending. Combinational.
    """

    def __init__(self, kinds: int):
        super().__init__(
            {
                "events": In(kinds),
                "clear": In(kinds),
                "enable": In(kinds),
                "pending": Out(kinds),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.pending.eq((self.pending & ~self.clear) | self.events)
        m.d.comb += self.irq.eq((self.pending & self.enable).any())
        return m
