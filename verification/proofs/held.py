"""Contents of queues, for the invariants of harnesses with queues inside."""

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal, Value

from rtl.lib.memory_queue import MemoryQueue
from rtl.lib.protected_queue import ProtectedQueue
from rtl.lib.queue import Queue
from rtl.lib.secded import encode
from rtl.lib.split_memory import SplitMemory
from rtl.lib.two_port_memory import TwoPortMemory

from .invariant import invariant

__all__ = ["QueueContents", "held", "held_in_memory", "held_words", "relate_pointers", "word_in"]


@dataclass(frozen=True)
class QueueContents:
    """Contents of a queue.

    Attributes
    ----------
    level : Value
        Number of payloads.
    entries : list
        Payload signals, from the next one to leave on; those below ``level`` are valid.
    """

    level: Value
    entries: list

    def has(self, index: int) -> Value:
        """Signal that entry ``index`` is valid."""
        return self.level > index


def held(m: Module, queue: Queue, name: str) -> QueueContents:
    """Expose the contents of a queue and assert that its pointers agree.

    Parameters
    ----------
    queue : Queue
        Queue in a submodule that is not elaborated yet.
    name : str
        Name for messages.
    """
    depth = queue.depth
    write, read = queue.write, queue.read
    m.d.comb += [
        invariant(queue.level <= depth, f"{name}: overflow"),
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
    return QueueContents(queue.level, entries)


def word_in(m: Module, memory: SplitMemory | TwoPortMemory, row: Signal) -> Value:
    """Read a row of a queue's memory.

    Parameters
    ----------
    memory : SplitMemory or TwoPortMemory
        Queue in a submodule that is not elaborated yet.
    """
    if isinstance(memory, TwoPortMemory):
        port = memory.memory.read_port(domain="comb")
        m.d.comb += port.addr.eq(row)
        return port.data
    even, odd = (half.memory.read_port(domain="comb") for half in memory.halves)
    m.d.comb += [even.addr.eq(row[1:]), odd.addr.eq(row[1:])]
    return Mux(row[0], odd.data, even.data)


def relate_pointers(m: Module, queue: MemoryQueue, name: str) -> None:
    """Assert that the pointers of a memory queue agree, and that it reads ahead.

    Parameters
    ----------
    queue : MemoryQueue
        Queue in a submodule that is not elaborated yet.
    name : str
        Name for messages.
    """
    storage, stored = queue.storage, queue.stored
    depth = storage.depth
    behind = storage.read_row + stored
    # Only a read that waited for the next write leaves more payloads behind, then an odd number.
    waits = stored[0] if isinstance(storage, SplitMemory) else stored == 1
    m.d.comb += [
        invariant(stored <= queue.capacity, f"{name}: overflow"),
        invariant(storage.read_row < depth, f"{name}: read pointer out of range"),
        invariant(
            storage.write_row == Mux(behind >= depth, behind - depth, behind),
            f"{name}: the pointers differ from the level",
        ),
        invariant((stored == 0) | waits | queue.o.valid, f"{name}: no payload was read ahead"),
    ]


def held_in_memory(m: Module, queue: MemoryQueue, name: str) -> list[tuple]:
    """Expose the contents of a memory queue and assert that its pointers agree.

    Parameters
    ----------
    queue : MemoryQueue
        Queue in a submodule that is not elaborated yet.
    name : str
        Name for messages.

    Returns
    -------
    list
        Pairs of a payload and its valid signal, from the next one to leave on.
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
    """Expose the memory of a protected queue and assert that it holds code words.

    Parameters
    ----------
    queue : ProtectedQueue
        Queue in a submodule that is not elaborated yet.
    name : str
        Name for messages.

    Returns
    -------
    list
        Pairs of a payload and its valid signal, from the next one to leave on.
    """
    payloads = []
    for index, (word, valid) in enumerate(held_in_memory(m, queue.words, name)):
        code = Signal(queue.check.i.shape(), name=f"{name}_word_{index}")
        payload = code.word
        m.d.comb += [
            code.eq(word),
            invariant(
                ~valid | (code.check == encode(Value.cast(payload))), f"{name}: wrong check bits"
            ),
        ]
        payloads.append((payload, valid))
    return payloads
