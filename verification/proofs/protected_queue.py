"""Protected queue and acknowledgement buffer: all comes out, in order, but for what wrong bits
have lost."""

from types import SimpleNamespace

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.channel.issue_ack_buffer import IssueAckBuffer
from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import IssueAck
from rtl.lib.protected_queue import ProtectedQueue
from rtl.lib.secded import encode
from rtl.lib.split_memory import SplitMemory
from rtl.parameters import T3Parameters

from .held import relate_pointers, word_in
from .injection import inject_freely
from .invariant import invariant
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_DEPTH = 6  # so that the memory takes an odd number, one less than its rows
_MOST = _DEPTH + 2  # two more are checked
_P = T3Parameters(contexts=1, workgroup_bits=3, wavefronts=2, sets=2, ways=2, address_bits=7)


class ProtectedQueueHarness(Elaboratable):
    """Follows one payload, whichever, and turns any bits in the memory through a port of its own.

    No more than two bits of the followed payload are wrong. Others may be lost, too.
    """

    def __init__(self, queue: type = ProtectedQueue):
        self._queue = queue

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._queue(IssueAck(_P), depth=_DEPTH)
        follow(m, dut, dut, passes=Value.cast(0))
        return m


class IssueAckBufferHarness(Elaboratable):
    """As that of a protected queue, round which an issue acknowledgement may go."""

    def __init__(self, buffer: type = IssueAckBuffer):
        self._buffer = buffer

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._buffer(_P, depth=_DEPTH)
        queue = dut.waiting
        passes = Signal()
        ghost = follow(m, dut, queue, passes)
        m.d.comb += [
            # It is there, and could not come out of the queue in this cycle.
            passes.eq(moves(dut.i) & dut.o.ready & (ghost.held == 0)),
            Assert(
                ~passes | (moves(dut.o) & (dut.o.p == dut.i.p)),
                "an issue acknowledgement does not pass",
            ),
            Assert(dut.error.valid == queue.lost, "lost, but not told, or told for nothing"),
            Assert(
                ~dut.error.valid | (dut.error.report.code == ErrorCode.TRACKER_CORRUPT),
                "another error",
            ),
            Cover(passes & ghost.was_full, "passes after the buffer was full"),
        ]
        return m


def follow(m: Module, dut, queue: ProtectedQueue, passes: Value) -> SimpleNamespace:
    """Assert that what goes into a queue comes out of it.

    Parameters
    ----------
    m : Module
        The harness.
    dut
        Has the ports ``i`` and ``o``.
    queue : ProtectedQueue
        It, or a part of it.
    passes : Value
        A payload goes from ``i`` to ``o`` in this cycle.
    """
    free(m, dut.i.valid, dut.i.p, dut.o.ready)
    put, take, lost = Signal(), Signal(), queue.lost
    held = Signal(range(_MOST + 2))
    was_full = Signal()
    injected = inject_freely(m, dut.inject, queue.injector, put)
    m.d.comb += [put.eq(moves(dut.i) & ~passes), take.eq(moves(dut.o) & ~passes)]
    m.d.sync += [held.eq(held + put - take - lost), was_full.eq(was_full | ~dut.i.ready)]

    # What leaves the memory, and is lost perhaps, stands behind what is checked.
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
    bits, waited = Signal(range(len(wrong) + 1)), Signal(2)
    with m.If((held != 0) & ~dut.o.valid & ~lost):
        m.d.sync += waited.eq(waited + 1)
    with m.Else():
        m.d.sync += waited.eq(0)
    m.d.comb += [
        bits.eq(sum(wrong)),
        Assume(~follows | (bits <= 2)),
        Assert(~take | (held != 0), "something leaves, but nothing is held"),
        Assert(~lost | (held != 0), "something is lost, but nothing is held"),
        Assert(queue.empty == (held == 0), "empty: not while nothing is held"),
        Assert(dut.i.ready | (held >= _DEPTH - 1), "no room, for nothing"),
        Assert(waited <= 2, "nothing comes out for three cycles"),
        Assert(~first | (dut.o.p == payload), "a payload changes, or not in its turn"),
        Assert(~at_end | (lost == (bits == 2)), "lost: not if two bits are wrong"),
        Assert(~at_end | (queue.corrected == (bits == 1)), "corrected: not if one bit is wrong"),
        Cover(first & take & (bits == 1), "a corrected payload leaves"),
        Cover(at_end & lost, "lost"),
        Cover(at_end & ~lost & was_full & (ahead == 1), "one that waited"),
        Cover((held == _MOST) & ~dut.i.ready, "full"),
    ]
    assert_held(m, dut.o, "o")
    ghost = SimpleNamespace(
        held=held,
        follows=follows,
        ahead=ahead,
        payload=payload,
        wrong=wrong,
        waited=waited,
        was_full=was_full,
        injected=injected,
    )
    _relate(m, queue, ghost)
    return ghost


def _relate(m: Module, queue: ProtectedQueue, ghost: SimpleNamespace) -> None:
    """Where the payloads are, and the followed one's wrong bits."""
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

    code = Cat(ghost.payload, encode(ghost.payload.as_value())) ^ ghost.wrong
    read, write = checked.read, checked.write
    relate_pointers(m, words, "words")
    with m.If(ghost.follows):
        m.d.comb += invariant(ghost.ahead < ghost.held, "the followed payload is not held")
        with m.If(ghost.ahead < level):
            m.d.comb += invariant(at.data == ghost.payload, "another payload is checked")
            m.d.comb += invariant(sum(ghost.wrong) <= 1, "a wrong payload is checked")
        with m.Elif(~behind):
            m.d.comb += invariant(words.o.p == code, "another payload at the end")
        with m.Else():
            m.d.comb += invariant(stored == code, "another payload in the memory")
    m.d.comb += [
        invariant(level <= checked.depth, "more checked than there is room for"),
        invariant((read.addr + level)[: len(write.addr)] == write.addr, "pointers of the checked"),
        invariant(ghost.held == words.stored + rdy + level, "held: not what is there"),
        invariant((ghost.waited != 1) | rdy | level.any() | ~ghost.held.any(), "it does not move"),
        invariant((ghost.waited != 2) | level.any() | ~ghost.held.any(), "nor here"),
    ]


def _turn(m: Module, memory: SplitMemory, writes: Value) -> tuple[Value, Value]:
    """Turn any bits in any row but one that is written; gives the row and the bits."""
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
    "Every payload comes out once, in order and unchanged, within three cycles if nothing is "
    "before it, and an offer stays until it is taken; one turned bit in the memory is corrected, "
    "and a payload with two is left out and told as lost; an injection turns the lowest bit, or "
    "the two lowest, of the next payload that is kept there, and nothing else"
)
_REASON = "check-bits and check-syndrome have every width; a longer memory has the same pointers"

PROOFS = (
    Proof(
        name="protected-queue",
        statement=_STATEMENT,
        blocks=(ProtectedQueue,),
        harness=ProtectedQueueHarness,
        geometry=f"depth {_DEPTH}, payloads of 8 bits",
        reason=_REASON,
        depth=1,
        cover_depth=16,
        slow=True,
    ),
    Proof(
        name="issue-ack-buffer",
        statement=f"{_STATEMENT}, as TRACKER_CORRUPT; no acknowledgement passes one that waits",
        blocks=(IssueAckBuffer,),
        harness=IssueAckBufferHarness,
        geometry=f"depth {_DEPTH}, issue acknowledgements of 8 bits",
        reason=_REASON,
        depth=1,
        cover_depth=18,
        slow=True,
    ),
)
