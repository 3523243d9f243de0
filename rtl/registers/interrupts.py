"""Interrupt register: events that are pending until software clears them."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Interrupts"]


class Interrupts(wiring.Component):
    """Interrupt register with one bit per kind of event.

    Parameters
    ----------
    kinds : int
        Number of kinds of events.

    Members
    -------
    events : In(kinds)
        Events of this cycle.
    clear : In(kinds)
        Events to clear. An event of the same cycle stays pending.
    enable : In(kinds)
        Events that raise ``irq``.
    pending : Out(kinds)
        Pending events. Register.
    irq : Out(1)
        An enabled event is pending. Combinational.
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
