"""What an injection does, for the proofs of memories with check bits."""

from amaranth.hdl import Assert, Cat, Cover, Module, Signal, Value

from rtl.lib.injection import FLIPPED_BITS, Injector

from .invariant import invariant
from .streams import free

__all__ = ["inject_freely"]


def inject_freely(m: Module, port, injector: Injector, writes: Value) -> Signal:
    """Drive a memory's port as ever; gives the bits that a word which is written now gets wrong.

    Parameters
    ----------
    m : Module
        The harness.
    port
        ``inject`` of the block.
    injector : Injector
        Of the memory.
    writes : Value
        A word is written in this cycle.
    """
    turned = Signal(FLIPPED_BITS, name="injected")
    free(m, port.set, port.select, port.double)
    with m.If(port.set):
        m.d.sync += turned.eq(Cat(port.select, port.select & port.double))
    with m.Elif(writes):
        m.d.sync += turned.eq(0)
    m.d.comb += [
        Assert(port.armed == turned.any(), "armed: not while the next word gets wrong bits"),
        Cover(writes & turned.all(), "two wrong bits are written"),
        invariant(injector.flips == turned, "other bits are turned"),
    ]
    return turned
