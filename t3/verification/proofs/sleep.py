"""Rooms that sleep: a clock while one is not awake changes nothing in it."""

from collections.abc import Iterator

from amaranth.hdl import (
    Assert,
    Cover,
    Elaboratable,
    Fragment,
    MemoryInstance,
    Module,
    Signal,
    Value,
)
from amaranth.lib.wiring import In

from rtl.registers.context_page import ContextPage
from rtl.registers.global_page import GlobalPage

from .proof import Proof
from .registers import GEOMETRY
from .streams import free

__all__ = ["PROOFS", "SleepHarness"]


def _inside(fragment: Fragment) -> Iterator[Fragment]:
    yield fragment
    for inner, *_ in fragment.subfragments:
        yield from _inside(inner)


def _registers(fragment: Fragment) -> list[Signal]:
    found = [
        signal
        for part in _inside(fragment)
        for domain, statements in part.statements.items()
        if domain != "comb"
        for signal in statements._lhs_signals()
    ]
    return list({id(signal): signal for signal in found}.values())


def _memory_enables(fragment: Fragment) -> list[Value]:
    """Of what a clock does to the memories: each write, and each read into a register."""
    ports = [
        port
        for part in _inside(fragment)
        if isinstance(part, MemoryInstance)
        for port in (*part._write_ports, *part._read_ports)
    ]
    return [port._en for port in ports if port._domain != "comb"]


class SleepHarness(Elaboratable):
    """Any inputs. The room's clock does not stop: what it would change shows in the next cycle."""

    def __init__(self, room: type, *arguments):
        self._room = room(*arguments)

    def elaborate(self, platform):
        m = Module()
        room = self._room
        fragment = Fragment.get(room, platform)
        m.submodules.room = fragment
        free(m, *(v for _, member, v in room.signature.flatten(room) if member.flow is In))
        slept, awake = Signal(), Signal()
        m.d.comb += awake.eq(room.awake)
        m.d.sync += slept.eq(~awake)
        for register in _registers(fragment):
            before = Signal.like(register, name=f"{register.name}_before")
            m.d.sync += before.eq(register)
            m.d.comb += Assert(
                ~slept | (register == before), f"{register.name} changes in a room that sleeps"
            )
        for number, enable in enumerate(_memory_enables(fragment)):
            m.d.comb += Assert(awake | ~enable.any(), f"memory port {number} of one that sleeps")
        m.d.comb += [
            Cover(slept & awake, "wakes up"),
            Cover(~slept & ~awake, "falls asleep"),
        ]
        return m


def _sleeps(name: str, room: type, what: str) -> Proof:
    return Proof(
        name=f"sleep-{name}",
        statement=f"While {what} is not awake, no register and no word of a memory in it changes",
        blocks=(room,),
        harness=lambda block: SleepHarness(block, GEOMETRY),
        geometry="2 contexts, 2 regions, 2 ranges, 2 commands, addresses of 8 bits",
        reason="no width is looked at",
        depth=2,
        cover_depth=12,
    )


PROOFS = (
    _sleeps("context-page", ContextPage, "a context's page of registers"),
    _sleeps("gpu-page", GlobalPage, "the GPU's page of registers"),
)
