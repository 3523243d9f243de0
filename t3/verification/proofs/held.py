"""What queues hold, for the invariants of harnesses that have queues inside."""

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal, Value

from rtl.lib.memory_queue import MemoryQueue
from rtl.lib.protected_queue import ProtectedQueue
from rtl.lib.queue import Queue
from rtl.lib.secded import encode

from .invariant import invariant

__all__ = ["Held", "held", "held_in_memory", "held_words"]


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
    depth, stored = queue.storage.depth, queue.stored
    write, read = queue.write, queue.read
    found = [(queue.o.p, queue.o.valid)]
    for index in range(depth):
        port = queue.storage.read_port(domain="comb")
        at = read.addr + index
        m.d.comb += port.addr.eq(Mux(at >= depth, at - depth, at))
        found.append((port.data, stored > index))
    behind = read.addr + stored
    m.d.comb += [
        invariant(stored <= depth, f"{name}: more than there is room for"),
        invariant(read.addr < depth, f"{name}: read pointer outside"),
        invariant(
            write.addr == Mux(behind >= depth, behind - depth, behind),
            f"{name}: the pointers differ from the level",
        ),
        invariant((stored <= 1) | queue.o.valid, f"{name}: nothing read ahead"),
    ]
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
