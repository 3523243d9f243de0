"""What queues hold, for the invariants of harnesses that have queues inside."""

from dataclasses import dataclass
from types import SimpleNamespace

from amaranth.hdl import Module, Mux, Signal, Value

from rtl.lib.queue import Queue
from rtl.lib.secded import encode

from .inside import invariant, opened

__all__ = ["Held", "held", "held_words"]


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
        A submodule, not opened yet.
    name : str
        For messages.
    """
    depth = queue.depth
    inside = opened(queue)
    (write,), (read,) = inside.storage.write_ports, inside.storage.read_ports
    m.d.comb += [
        invariant(queue.level <= depth, f"{name}: more than there is room for"),
        invariant(
            (read.addr + queue.level - write.addr)[: len(read.addr)] == 0,
            f"{name}: the pointers differ from the level",
        ),
    ]
    entries = []
    for index in range(depth):
        port = inside.storage.read_port(domain="comb")
        m.d.comb += port.addr.eq(read.addr + index)
        entry = Signal.like(queue.o.p, name=f"{name}_{index}")
        m.d.comb += entry.eq(port.data)
        entries.append(entry)
    return Held(queue.level, entries)


def held_words(m: Module, inside: SimpleNamespace, name: str) -> list[tuple]:
    """Look into the memory of a protected queue, and assert that it holds code words.

    Parameters
    ----------
    m : Module
        Of the harness.
    inside : SimpleNamespace
        The opened queue.
    name : str
        For messages.

    Returns
    -------
    list
        Of payloads and whether they are there; from the next to leave on.
    """
    words = inside.words
    fifo = opened(words)
    depth = fifo.inner_depth
    found = [(words.r_rdy, words.r_data)]
    for index in range(depth):
        port = fifo.storage.read_port(domain="comb")
        at = fifo.consume + index
        m.d.comb += port.addr.eq(Mux(at >= depth, at - depth, at))
        found.append((fifo.inner_level > index, port.data))
    behind = fifo.consume + fifo.inner_level
    m.d.comb += [
        invariant(fifo.inner_level <= depth, f"{name}: more than there is room for"),
        invariant(fifo.consume < depth, f"{name}: read pointer outside"),
        invariant(
            fifo.produce == Mux(behind >= depth, behind - depth, behind),
            f"{name}: the pointers differ from the level",
        ),
        invariant((fifo.inner_level <= 1) | words.r_rdy, f"{name}: nothing read ahead"),
    ]
    payloads = []
    for index, (valid, word) in enumerate(found):
        code = Signal(inside.check.i.shape(), name=f"{name}_word_{index}")
        payload = code.word
        m.d.comb += [
            code.eq(word),
            invariant(
                ~valid | (code.check == encode(Value.cast(payload))), f"{name}: no code word"
            ),
        ]
        payloads.append((payload, valid))
    return payloads
