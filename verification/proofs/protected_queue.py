"""Proof of protected queue and acknowledgement buffer: payloads come out in order, or are lost
to bit errors."""

from types import SimpleNamespace

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.channel.issue_ack_buffer import IssueAckBuffer
from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import IssueAck
from rtl.lib.protected_queue import ProtectedQueue
from rtl.lib.split_memory import SplitMemory
from rtl.parameters import T3Parameters

from .held import relate_pointers, word_in
from .injection import inject_freely
from .invariant import invariant
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_DEPTH = 6  # the memory then holds an odd number of payloads, one less than its rows
_MOST = _DEPTH + 2  # two more payloads may be in the checked queue
_P = T3Parameters(
    contexts=2,
    workgroup_bits=3,
    wavefronts=2,
    sets=2,
    ways=2,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=11,
)


class ProtectedQueueHarness(Elaboratable):
    """Harness that observes one arbitrary payload and inverts arbitrary bits in the memory.

    At most two bits of the observed payload are wrong. Other payloads may be lost, too.
    """

    def __init__(self, queue: type = ProtectedQueue):
        self._queue = queue

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._queue(IssueAck(_P), depth=_DEPTH)
        follow(m, dut, dut, passes=Value.cast(0))
        return m


class IssueAckBufferHarness(Elaboratable):
    """Harness of a protected queue with a bypass for issue acknowledgements."""

    def __init__(self, buffer: type = IssueAckBuffer):
        self._buffer = buffer

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._buffer(_P, depth=_DEPTH)
        queue = dut.waiting
        passes = Signal()
        ghost = follow(m, dut, queue, passes)
        m.d.comb += [
            # The word bypasses the queue, which could not deliver a payload in this cycle.
            passes.eq(moves(dut.i) & dut.o.ready & (ghost.held == 0)),
            Assert(
                ~passes | (moves(dut.o) & (dut.o.p == dut.i.p)),
                "an issue acknowledgement is held back",
            ),
            Assert(
                dut.error.valid == queue.lost, "a loss is not reported, or a report has no loss"
            ),
            Assert(
                ~dut.error.valid | (dut.error.report.code == ErrorCode.TRACKER_CORRUPT),
                "wrong error code",
            ),
            Assert(
                ~(ghost.at_end & queue.lost) | (dut.error.report.owner == ghost.payload.owner),
                "a loss is reported to another context",
            ),
            Cover(passes & ghost.was_full, "bypass after the buffer was full"),
            Cover(
                ghost.at_end & queue.lost & (queue.check.i.word.owner != ghost.payload.owner),
                "a loss with a wrong owner",
            ),
        ]
        return m


def follow(m: Module, dut, queue: ProtectedQueue, passes: Value) -> SimpleNamespace:
    """Assert that every payload that enters a queue comes out of it.

    Parameters
    ----------
    m : Module
        The harness.
    dut
        Block with the ports ``i`` and ``o``.
    queue : ProtectedQueue
        Queue: the block itself, or a part of it.
    passes : Value
        Signal that a payload bypasses the queue from ``i`` to ``o`` in this cycle.
    """
    free(m, dut.i.valid, dut.i.p, dut.o.ready)
    put, take, lost = Signal(), Signal(), queue.lost
    held = Signal(range(_MOST + 2))
    was_full = Signal()
    injected = inject_freely(m, dut.inject, queue.injector, put)
    m.d.comb += [put.eq(moves(dut.i) & ~passes), take.eq(moves(dut.o) & ~passes)]
    m.d.sync += [held.eq(held + put - take - lost), was_full.eq(was_full | ~dut.i.ready)]

    # The word that leaves the memory, and may be lost, is behind the checked payloads.
    checked = queue.checked.level
    follows, ahead = Signal(), Signal.like(held)
    payload = Signal.like(dut.i.p)
    at_end, first = Signal(), Signal()
    m.d.comb += [
        at_end.eq(follows & (ahead == checked) & queue.leaves),
        first.eq(follows & (ahead == 0) & dut.o.valid & ~passes),
    ]
    with m.If(~follows):
        with m.If(AnySeq(1) & put):
            m.d.sync += [follows.eq(1), ahead.eq(held - take - lost), payload.eq(dut.i.p)]
    with m.Else():
        m.d.sync += ahead.eq(ahead - take - (lost & (ahead > checked)))
        with m.If((at_end & lost) | (first & take)):
            m.d.sync += follows.eq(0)
    wrong = Signal(len(queue.words.i.p))
    # Bit errors of the code word; the others are in the copies.
    bits, waited = Signal(range(len(wrong) + 1)), Signal(2)
    with m.If((held != 0) & ~dut.o.valid & ~lost):
        m.d.sync += waited.eq(waited + 1)
    with m.Else():
        m.d.sync += waited.eq(0)
    m.d.comb += [
        bits.eq(sum(_in_code(queue, wrong))),
        Assume(~follows | (sum(wrong) <= 2)),
        Assert(~take | (held != 0), "a payload leaves an empty queue"),
        Assert(~lost | (held != 0), "an empty queue loses a payload"),
        Assert(queue.empty == (held == 0), "empty: differs from no payload"),
        Assert(dut.i.ready | (held >= _DEPTH - 1), "not ready, although there is space"),
        Assert(waited <= 2, "no payload comes out for three cycles"),
        Assert(~first | (dut.o.p == payload), "a payload changes or leaves out of order"),
        Assert(~at_end | (lost == (bits == 2)), "lost: differs from a double-bit error"),
        Assert(~at_end | (queue.corrected == (bits == 1)), "corrected: differs from one bit error"),
        Cover(first & take & (bits == 1), "a corrected payload leaves"),
        Cover(at_end & lost, "a payload is lost"),
        Cover(at_end & ~lost & was_full & (ahead == 1), "a payload that waited is checked"),
        Cover((held == _MOST) & ~dut.i.ready, "full"),
    ]
    assert_held(m, dut.o, "o")
    ghost = SimpleNamespace(
        held=held,
        follows=follows,
        ahead=ahead,
        payload=payload,
        at_end=at_end,
        wrong=wrong,
        waited=waited,
        was_full=was_full,
        injected=injected,
    )
    _relate(m, queue, ghost)
    return ghost


def _in_code(queue: ProtectedQueue, word: Value) -> Value:
    """Return the code word of a word in the memory."""
    return word[: len(Value.cast(queue.check.i))]


def _relate(m: Module, queue: ProtectedQueue, ghost: SimpleNamespace) -> None:
    """Relate the ghost state to the places of the payloads and the errors of the observed one."""
    words, checked = queue.words, queue.checked
    memory, rdy, level = words.storage, words.o.valid, checked.level
    at = checked.storage.read_port(domain="comb")
    index = Signal(range(2 * _DEPTH))
    row, behind = Signal(range(memory.depth)), Signal()
    stored, next_row = word_in(m, memory, row), memory.read_row + index
    turned, turns = _turn(m, memory, moves(words.i))
    m.d.comb += [
        index.eq(ghost.ahead - level - rdy),
        behind.eq(ghost.ahead >= level + rdy),
        row.eq(Mux(next_row >= memory.depth, next_row - memory.depth, next_row)),
        at.addr.eq(checked.read.addr + ghost.ahead),
    ]
    with m.If(~ghost.follows):
        m.d.sync += ghost.wrong.eq(ghost.injected)
    with m.Elif(behind & (turned == row) & ~(memory.reads & (index == 0))):
        m.d.sync += ghost.wrong.eq(ghost.wrong ^ turns)

    word = queue.word_of(ghost.payload) ^ ghost.wrong
    read, write = checked.read, checked.write
    relate_pointers(m, words, "words")
    with m.If(ghost.follows):
        m.d.comb += invariant(ghost.ahead < ghost.held, "the observed payload has left")
        with m.If(ghost.ahead < level):
            m.d.comb += invariant(at.data == ghost.payload, "the checked payload is another one")
            wrong = sum(_in_code(queue, ghost.wrong))
            m.d.comb += invariant(wrong <= 1, "a lost payload counts as checked")
        with m.Elif(~behind):
            m.d.comb += invariant(words.o.p == word, "the payload at the end is another one")
        with m.Else():
            m.d.comb += invariant(stored == word, "the payload in the memory is another one")
    m.d.comb += [
        invariant(level <= checked.depth, "checked queue: overflow"),
        invariant((read.addr + level)[: len(write.addr)] == write.addr, "checked queue: pointers"),
        invariant(ghost.held == words.stored + rdy + level, "held: differs from the payloads"),
        invariant((ghost.waited != 1) | rdy | level.any() | ~ghost.held.any(), "memory: stuck"),
        invariant((ghost.waited != 2) | level.any() | ~ghost.held.any(), "check: stuck"),
    ]


def _turn(m: Module, memory: SplitMemory, writes: Value) -> tuple[Value, Value]:
    """Invert arbitrary bits of any row except one that is being written; return row and bits."""
    row, bits = Signal(range(memory.depth)), Signal(len(memory.data))
    free(m, row, bits)
    m.d.comb += [
        Assume(row < memory.depth),
        Assume((bits == 0) | ~writes | (row != memory.write_row)),
    ]
    for number, half in enumerate(memory.halves):
        port = half.memory.write_port()
        m.d.comb += [
            port.en.eq(bits.any() & (row[0] == number)),
            port.addr.eq(row[1:]),
            port.data.eq(word_in(m, memory, row) ^ bits),
        ]
    return row, bits


_STATEMENT = (
    "Every payload comes out once, in order and unchanged, within three cycles if it is the first, "
    "and an offer stays until it is taken; a single-bit error in the memory is corrected, and a "
    "payload with a double-bit error is dropped and reported as lost; an injection inverts only "
    "the lowest bit, or the two lowest bits, of the next payload that is stored"
)
_REASON = "check-bits and check-syndrome cover every width; a longer memory has the same pointers"

PROOFS = (
    Proof(
        name="protected-queue",
        statement=_STATEMENT,
        blocks=(ProtectedQueue,),
        harness=ProtectedQueueHarness,
        geometry=f"depth {_DEPTH}, payloads of 9 bits",
        reason=_REASON,
        depth=1,
        cover_depth=16,
        slow=True,
    ),
    Proof(
        name="issue-ack-buffer",
        statement=f"{_STATEMENT}; losses are reported as TRACKER_CORRUPT to the owner, whichever "
        "two bits are wrong; no acknowledgement overtakes a waiting one",
        blocks=(IssueAckBuffer,),
        harness=IssueAckBufferHarness,
        geometry=f"depth {_DEPTH}, 2 contexts, issue acknowledgements of 9 bits",
        reason=_REASON,
        depth=1,
        cover_depth=18,
        slow=True,
    ),
)
