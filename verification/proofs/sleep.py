"""Rooms that sleep: a clock while one is not awake changes nothing in it."""

from collections.abc import Iterator, Sequence

from amaranth.hdl import (
    Assert,
    Const,
    Cover,
    Elaboratable,
    Fragment,
    MemoryInstance,
    Module,
    Signal,
    Value,
)
from amaranth.lib.wiring import In

from rtl.lib.follower import Follower
from rtl.lib.memory_queue import MemoryQueue
from rtl.lib.protected_memory import ProtectedMemory
from rtl.lib.protected_queue import ProtectedQueue
from rtl.lib.queue import Queue
from rtl.lib.wide_counter import WideCounter
from rtl.link.errors import LinkErrors
from rtl.registers.context_page import ContextPage
from rtl.registers.error_choice import ErrorChoice
from rtl.registers.global_page import GlobalPage
from rtl.registers.port import Registers

from .proof import Proof
from .registers import GEOMETRY
from .streams import free

__all__ = ["PROOFS", "SleepHarness", "sleeps"]


class _Rooms:
    """A platform that remembers the rooms within a room: each has a promise of its own."""

    def __init__(self) -> None:
        self.fragments: list[Fragment] = []

    def stop_clock(self, room: Elaboratable) -> Elaboratable:
        self.fragments.append(Fragment.get(room, self))
        return self.fragments[-1]

    def beside(self, fragment: Fragment) -> Iterator[Fragment]:
        """What is in a fragment, but not in another room."""
        yield fragment
        for inner, *_ in fragment.subfragments:
            if not any(inner is room for room in self.fragments):
                yield from self.beside(inner)


def _registers(parts: Sequence[Fragment]) -> list[Signal]:
    found = [
        signal
        for part in parts
        for domain, statements in part.statements.items()
        if domain != "comb"
        for signal in statements._lhs_signals()
    ]
    return list({id(signal): signal for signal in found}.values())


def _memory_enables(parts: Sequence[Fragment]) -> list[Value]:
    """Of what a clock does to the memories: each write, and each read into a register."""
    ports = [
        port
        for part in parts
        if isinstance(part, MemoryInstance)
        for port in (*part._write_ports, *part._read_ports)
    ]
    return [port._en for port in ports if port._domain != "comb"]


class SleepHarness(Elaboratable):
    """Any inputs. The room's clock does not stop: what it would change shows in the next cycle."""

    def __init__(self, room: type, *arguments, **options):
        self._room = room(*arguments, **options)

    def elaborate(self, platform):
        m = Module()
        room, rooms = self._room, _Rooms()
        fragment = Fragment.get(room, rooms)
        parts = list(rooms.beside(fragment))
        m.submodules.room = fragment
        inputs = (v for _, member, v in room.signature.flatten(room) if member.flow is In)
        # The `ready` of what is always taken is constant.
        free(m, *(v for v in inputs if not isinstance(v, Const)))
        slept, awake = Signal(), Signal()
        m.d.comb += awake.eq(room.awake)
        m.d.sync += slept.eq(~awake)
        for register in _registers(parts):
            before = Signal.like(register, name=f"{register.name}_before")
            m.d.sync += before.eq(register)
            unchanged = register == before
            m.d.comb += Assert(~slept | unchanged, f"{register.name} changes in a room that sleeps")
            self.relate(m, register, unchanged)
        for number, enable in enumerate(_memory_enables(parts)):
            m.d.comb += Assert(awake | ~enable.any(), f"memory port {number} of one that sleeps")
        m.d.comb += [
            Cover(slept & awake, "wakes up"),
            Cover(~slept & ~awake, "falls asleep"),
        ]
        return m

    def relate(self, m: Module, register: Signal, unchanged: Value) -> None:
        """Tell the induction when else a register is unchanged."""


def sleeps(
    name: str,
    what: str,
    room: type,
    *arguments,
    geometry: str,
    harness: type[SleepHarness] = SleepHarness,
    **options,
) -> Proof:
    """A room's promise, for its proof.

    Parameters
    ----------
    name, what : str
        Of the room: in the proof's name, and in its statement.
    room : type
    *arguments, **options
        From which the room is made.
    geometry : str
        See :class:`Proof`.
    harness : type
        Of the room.
    """
    return Proof(
        name=f"sleep-{name}",
        statement=f"While {what} is not awake, no register and no word of a memory in it changes",
        blocks=(room,),
        harness=lambda block: harness(block, *arguments, **options),
        geometry=geometry,
        reason="no width is looked at",
        depth=2,
        cover_depth=12,
    )


_PAGES = "2 contexts, 2 regions, 2 ranges, 2 commands, addresses of 8 bits"
_WORDS = "4 words of 8 bits"

PROOFS = (
    sleeps("queue", "a queue", Queue, 8, depth=4, geometry=_WORDS),
    sleeps("memory-queue", "a long queue", MemoryQueue, 8, depth=4, geometry=_WORDS),
    sleeps(
        "split-queue",
        "a long queue in two halves",
        MemoryQueue,
        8,
        depth=4,
        split=True,
        geometry=_WORDS,
    ),
    sleeps(
        "protected-queue", "a queue with check bits", ProtectedQueue, 8, depth=4, geometry=_WORDS
    ),
    sleeps(
        "protected-memory", "a memory with check bits", ProtectedMemory, 8, depth=4, geometry=_WORDS
    ),
    sleeps("wide-counter", "a counter", WideCounter, 20, geometry="20 bits"),
    sleeps("follower", "a register that follows", Follower, 8, geometry="8 bits"),
    sleeps(
        "error-choice",
        "the choice among errors",
        ErrorChoice,
        GEOMETRY,
        channels=3,
        banks=2,
        own=2,
        geometry=f"{_PAGES}; 3 errors of channels, 2 of banks and 2 of each context",
    ),
    sleeps("link-errors", "what keeps the links' errors", LinkErrors, GEOMETRY, geometry="1 link"),
    sleeps("register-port", "the register port", Registers, GEOMETRY, geometry=_PAGES),
    sleeps("context-page", "a context's page of registers", ContextPage, GEOMETRY, geometry=_PAGES),
    sleeps("gpu-page", "the GPU's page of registers", GlobalPage, GEOMETRY, geometry=_PAGES),
)
