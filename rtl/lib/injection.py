"""Wrong bits in a memory with check bits, on demand: software sees that they are found."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["FLIPPED_BITS", "InjectSignature", "Injector"]

FLIPPED_BITS = 2  # the lowest ones of the word, if both are wrong


class InjectSignature(wiring.Signature):
    """From the registers to a memory.

    Members
    -------
    set : Out(1)
        Strobe: from the next cycle on the memory is armed if ``select`` is on, and is not if it is
        off.
    select : Out(1)
    double : Out(1)
        Two bits, not one.
    armed : In(1)
        A register.
    """

    def __init__(self):
        super().__init__({"set": Out(1), "select": Out(1), "double": Out(1), "armed": In(1)})


class Injector(wiring.Component):
    """Says which bits of the next word are written wrong.

    Members
    -------
    port : In(:class:`InjectSignature`)
    write : In(1)
        A word is written in this cycle.
    flips : Out
        Its lowest bits that are turned: registers, so that no path to the memory is longer by more
        than the turn. A word that is written while one is on ends the injection.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.
    """

    def __init__(self):
        super().__init__(
            {
                "port": In(InjectSignature()),
                "write": In(1),
                "flips": Out(FLIPPED_BITS),
                "awake": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        port, flips = self.port, self.flips
        m.d.comb += [
            port.armed.eq(flips[0]),
            self.awake.eq(port.set | (self.write & flips.any())),
        ]
        with m.If(port.set):
            m.d.sync += flips.eq(Cat(port.select, port.select & port.double))
        with m.Elif(self.write):
            m.d.sync += flips.eq(0)
        return m
