"""Injection of bit errors, for proofs of memories with check bits; its absence, for others."""

from amaranth.hdl import Assert, Cat, Cover, Module, Signal, Value

from rtl.lib.injection import FLIPPED_BITS, Injector
from rtl.lib.scrubber import Scrubber
from rtl.tracker.table import TrackerTable

from .invariant import invariant
from .streams import free

__all__ = ["inject_freely", "no_injection", "no_scrub", "no_scrub_of"]


def inject_freely(m: Module, port, injector: Injector, writes: Value) -> Signal:
    """Drive a memory's injection port freely; return the bits inverted in a word written now.

    Parameters
    ----------
    port
        Port ``inject`` of the block.
    injector : Injector
        Injector of the memory.
    writes : Value
        Signal that a word is written in this cycle.
    """
    turned = Signal(FLIPPED_BITS, name="injected")
    free(m, port.set, port.select, port.double)
    with m.If(port.set):
        m.d.sync += turned.eq(Cat(port.select, port.select & port.double))
    with m.Elif(writes):
        m.d.sync += turned.eq(0)
    m.d.comb += [
        Assert(port.armed == turned.any(), "armed: differs from a pending injection"),
        Cover(writes & turned.all(), "a word is written with two inverted bits"),
        invariant(injector.flips == turned, "the injector inverts other bits"),
    ]
    return turned


def no_injection(m: Module, *injectors: Injector) -> None:
    """Assert that no bit error is injected, because none is requested."""
    m.d.comb += [invariant(injector.flips == 0, "bits are inverted") for injector in injectors]


def no_scrub(m: Module, *walks: Scrubber) -> None:
    """Assert that the scrubbers are idle, because no step is requested."""
    m.d.comb += [
        invariant(~(walk.due | walk.looks | walk.looked | walk.holds), "a scrub step is active")
        for walk in walks
    ]


def no_scrub_of(m: Module, table: TrackerTable) -> None:
    """Assert that the scrubber of the tracker's table is idle; other writes still occur."""
    no_scrub(m, table.walk)
    m.d.comb += [
        invariant(~table.fixing, "the scrubber writes"),
        invariant(table.writes_given == ~table.clearing, "a write without a source"),
    ]
