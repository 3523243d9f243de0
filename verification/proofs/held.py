"""What queues hold, for the invariants of harnesses that have queues inside."""

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal, Value

from rtl.lib.memory_queue import MemoryQueue
from rtl.lib.protected_queue import ProtectedQueue
from rtl.lib.queue import Queue
from rtl.lib.secded import encode
from rtl.lib.split_memory import SplitMemory
from rtl.lib.two_port_memory import TwoPortMemory

from .invariant import invariant

__all__ = ["Held", "held", "held_in_memory", "held_words", "relate_pointers", "word_in"]


@dataclass(frozen=True)
class Held:
    """Payloads of a queue.

    Attributes
    ----------
    level : Value
        How many there are.
    entries : list
        Of which these, from the next to leave on.
    """

    level: Value
    entries: list

    def has(self, index: int) -> Value:
        """Whether there is an entry ``index``."""
        return self.level > index


def held(m: Module, queue: Queue, name: str) -> Held:
    """Look into a queue, whose depth is a power of two, and assert that its pointers agree.

    Parameters
    ----------
    m : Module
        Of the harness.
    queue : Queue
        Part of a submodule that is not elaborated yet.
    name : str
        For messages.
    """
    depth = queue.depth
    write, read = queue.write, queue.read
    m.d.comb += [
        invariant(queue.level <= depth, f"{name}: more than there is room for"),
        invariant(
            (read.addr + queue.level - write.addr)[: len(read.addr)] == 0,
            f"{name}: the pointers differ from the level",
        ),
    ]
    entries = []
    for index in range(depth):
        port = queue.storage.read_port(domain="comb")
        m.d.comb += port.addr.eq(read.addr + index)
        entry = Signal.like(queue.o.p, name=f"{name}_{index}")
        m.d.comb += entry.eq(port.data)
        entries.append(entry)
    return Held(queue.level, entries)


def word_in(m: Module, memory: SplitMemory | TwoPortMemory, row: Signal) -> Value:
    """What is in a row of a queue's memory.

    Parameters
    ----------
    m : Module
        Of the harness.
    memory : SplitMemory or TwoPortMemory
        Part of a submodule that is not elaborated yet.
    row : Signal
    """
    if isinstance(memory, TwoPortMemory):
        port = memory.memory.read_port(domain="comb")
        m.d.comb += port.addr.eq(row)
        return port.data
    even, odd = (half.memory.read_port(domain="comb") for half in memory.halves)
    m.d.comb += [even.addr.eq(row[1:]), odd.addr.eq(row[1:])]
    return Mux(row[0], odd.data, even.data)


def relate_pointers(m: Module, queue: MemoryQueue, name: str) -> None:
    """Assert that the pointers of a queue in a memory agree, and that it is read ahead.

    Parameters
    ----------
    m : Module
        Of the harness.
    queue : MemoryQueue
        Part of a submodule that is not elaborated yet.
    name : str
        For messages.
    """
    storage, stored = queue.storage, queue.stored
    depth = storage.depth
    behind = storage.read_row + stored
    # Only a read that waited for what comes leaves more behind: then there is an odd number.
    waits = stored[0] if isinstance(storage, SplitMemory) else stored == 1
    m.d.comb += [
        invariant(stored <= queue.capacity, f"{name}: more than there is room for"),
        invariant(storage.read_row < depth, f"{name}: read pointer outside"),
        invariant(
            storage.write_row == Mux(behind >= depth, behind - depth, behind),
            f"{name}: the pointers differ from the level",
        ),
        invariant((stored == 0) | waits | queue.o.valid, f"{name}: nothing read ahead"),
    ]


def held_in_memory(m: Module, queue: MemoryQueue, name: str) -> list[tuple]:
    """Look into a queue in a memory, and assert that its pointers agree.

    Parameters
    ----------
    m : Module
        Of the harness.
    queue : MemoryQueue
        Part of a submodule that is not elaborated yet.
    name : str
        For messages.

    Returns
    -------
    list
        Of payloads and whether they are there; from the next to leave on.
    """
    storage, stored = queue.storage, queue.stored
    relate_pointers(m, queue, name)
    found = [(queue.o.p, queue.o.valid)]
    for index in range(queue.capacity):
        at = storage.read_row + index
        row = Signal(range(storage.depth), name=f"{name}_row_{index}")
        m.d.comb += row.eq(Mux(at >= storage.depth, at - storage.depth, at))
        found.append((word_in(m, storage, row), stored > index))
    return found


def held_words(m: Module, queue: ProtectedQueue, name: str) -> list[tuple]:
    """Look into the memory of a protected queue, and assert that it holds code words.

    Parameters
    ----------
    m : Module
        Of the harness.
    queue : ProtectedQueue
        Part of a submodule that is not elaborated yet.
    name : str
        For messages.

    Returns
    -------
    list
        Of payloads and whether they are there; from the next to leave on.
    """
    payloads = []
    for index, (word, valid) in enumerate(held_in_memory(m, queue.words, name)):
        code = Signal(queue.check.i.shape(), name=f"{name}_word_{index}")
        payload = code.word
        m.d.comb += [
            code.eq(word),
            invariant(
                ~valid | (code.check == encode(Value.cast(payload))), f"{name}: no code word"
            ),
        ]
        payloads.append((payload, valid))
    return payloads
