"""Injection of bit errors into a memory with check bits, to test error detection."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["FLIPPED_BITS", "InjectSignature", "Injector"]

FLIPPED_BITS = 2  # the lowest bits of a word, both for a double-bit error


class InjectSignature(wiring.Signature):
    """Injection port, from the registers to a memory.

    Members
    -------
    set : Out(1)
        Strobe: from the next cycle on, the memory is armed if ``select`` is high, and disarmed if
        ``select`` is low.
    select : Out(1)
    double : Out(1)
        Inject a double-bit error instead of a single-bit error.
    armed : In(1)
        An injection waits for the next write. Register.
    """

    def __init__(self):
        super().__init__({"set": Out(1), "select": Out(1), "double": Out(1), "armed": In(1)})


class Injector(wiring.Component):
    """Injector: selects the bits that are inverted in the next word written.

    Members
    -------
    port : In(:class:`InjectSignature`)
    write : In(1)
        A word is written in this cycle.
    flips : Out
        Inversion mask for the lowest bits of the word. Registers, so that injection adds only one
        exclusive-or to the path into the memory. A write with a bit of the mask set ends the
        injection.
    """

    def __init__(self):
        super().__init__(
            {
                "port": In(InjectSignature()),
                "write": In(1),
                "flips": Out(FLIPPED_BITS),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        port, flips = self.port, self.flips
        m.d.comb += [
            port.armed.eq(flips[0]),
            self.clock_enable.eq(port.set | (self.write & flips.any())),
        ]
        with m.If(port.set):
            m.d.sync += flips.eq(Cat(port.select, port.select & port.double))
        with m.Elif(self.write):
            m.d.sync += flips.eq(0)
        return m
