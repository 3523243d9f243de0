"""What an injection does, for the proofs of memories with check bits, and what does not happen
in other blocks' proofs."""

from amaranth.hdl import Assert, Cat, Cover, Module, Signal, Value

from rtl.lib.injection import FLIPPED_BITS, Injector
from rtl.lib.patrol import Patrol
from rtl.tracker.table import TrackerTable

from .invariant import invariant
from .streams import free

__all__ = ["inject_freely", "no_injection", "no_patrol", "no_patrol_of"]


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


def no_injection(m: Module, *injectors: Injector) -> None:
    """Nobody asks for wrong bits, so that there are none."""
    m.d.comb += [invariant(injector.flips == 0, "bits are turned") for injector in injectors]


def no_patrol(m: Module, *walks: Patrol) -> None:
    """Nobody asks for a step of the patrol, so that none is under way."""
    m.d.comb += [
        invariant(~(walk.due | walk.looks | walk.looked | walk.holds), "a patrol") for walk in walks
    ]


def no_patrol_of(m: Module, table: TrackerTable) -> None:
    """Likewise of the tracker's table, which writes what it is given, or clears."""
    no_patrol(m, table.walk)
    m.d.comb += [
        invariant(~table.fixing, "the patrol writes"),
        invariant(table.writes_given == ~table.clearing, "something else is written"),
    ]
