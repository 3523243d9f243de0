"""Proof of the merges: every payload passes once and unchanged, and streams take turns."""

from functools import partial

from amaranth.asserts import AnyConst
from amaranth.hdl import (
    Assert,
    Assume,
    Cat,
    Cover,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
    ValueLike,
)

from rtl.interface.layouts import Completion, DramRequest
from rtl.lib.round_robin import Merge, Merge2, RoundRobinPick
from rtl.parameters import T3Parameters

from .invariant import invariant
from .proof import Proof
from .streams import free, moves

__all__ = ["PROOFS"]


class Merge2Harness(Elaboratable):
    """Harness with arbitrary streams and an arbitrary sink."""

    def __init__(self, merge: type = Merge2):
        self._merge = merge

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._merge(DramRequest(T3Parameters(contexts=1)))
        free(m, dut.a.valid, dut.a.p, dut.b.valid, dut.b.p, dut.o.ready)

        from_a, from_b = Signal(), Signal()
        b_was_last = Signal(init=1)
        both = Signal()
        m.d.comb += [
            from_a.eq(moves(dut.a)),
            from_b.eq(moves(dut.b)),
            both.eq(dut.a.valid & dut.b.valid),
        ]
        with m.If(moves(dut.o)):
            m.d.sync += b_was_last.eq(from_b)

        m.d.comb += [
            Assert(dut.o.valid == (dut.a.valid | dut.b.valid), "valid: differs from the inputs"),
            Assert(
                (from_a + from_b) == moves(dut.o), "inputs and output transfer different numbers"
            ),
            Assert(~from_a | (dut.o.p == dut.a.p), "the payload of a changes"),
            Assert(~from_b | (dut.o.p == dut.b.p), "the payload of b changes"),
            Assert(~(both & from_a) | b_was_last, "a goes twice while b waits"),
            Assert(~(both & from_b) | ~b_was_last, "b goes twice while a waits"),
            Cover(both & from_a & b_was_last, "a has its turn"),
            Cover(both & from_b, "b has its turn"),
            Cover(both & ~dut.o.ready, "both wait"),
            invariant(dut.last == b_was_last, "last: another stream"),
        ]
        return m


def _assert_turns(
    m: Module, requests: Value, grant: Value, *, seen: ValueLike, taken: Value, first: Value
) -> None:
    """Assert a round-robin order: grants go to the first request at or after a pointer.

    The pointer moves behind each taken request, so a waiting request lets every other one pass at
    most once.

    Parameters
    ----------
    seen : ValueLike
        Signal that the grant is visible; it is 0 otherwise.
    taken : Value
        Signal that the grant is used.
    first : Value
        One-hot pointer of the block.
    """
    inputs = len(requests)
    who, pointer, granted = (Signal(range(inputs)) for _ in range(3))
    m.d.comb += [who.eq(AnyConst(len(who))), Assume(who < inputs)]
    with m.Switch(grant):
        for index in range(inputs):
            with m.Case(1 << index):
                m.d.comb += granted.eq(index)
    with m.If(taken):
        m.d.sync += pointer.eq(Mux(granted == inputs - 1, 0, granted + 1))

    def distance(index: Value, name: str) -> Signal:
        result = Signal(range(inputs), name=name)
        m.d.comb += result.eq(Mux(index >= pointer, index - pointer, index - pointer + inputs))
        return result

    of_who, of_granted = distance(who, "of_who"), distance(granted, "of_granted")
    asks = requests.bit_select(who, 1)
    others = Signal(range(inputs + 1))
    with m.If(~asks | (taken & (granted == who))):
        m.d.sync += others.eq(0)
    with m.Elif(taken):
        m.d.sync += others.eq(others + 1)
    m.d.comb += [
        Assert((grant & (grant - 1)) == 0, "two grants"),
        Assert((grant & ~requests) == 0, "a grant without a request"),
        Assert(grant.any() == (seen & requests.any()), "no grant, although there is a request"),
        Assert(~(seen & asks) | (of_granted <= of_who), "the request nearest to the pointer waits"),
        Assert(others < inputs, "a request lets another one pass twice"),
        Cover(others == inputs - 1, "a request lets all others pass"),
        invariant(first == 1 << pointer, "first: another input"),
        invariant((others == 0) | (others + of_who < inputs), "the turn does not come nearer"),
    ]


class PickHarness(Elaboratable):
    """Harness with arbitrary requests and grants that observes one arbitrary input."""

    def __init__(self, pick: type = RoundRobinPick, *, inputs: int):
        self._pick = pick
        self._inputs = inputs

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._pick(self._inputs)
        free(m, dut.requests, dut.take)
        _assert_turns(
            m,
            dut.requests,
            dut.grant,
            seen=1,
            taken=dut.take & dut.requests.any(),
            first=dut.first,
        )
        return m


class MergeHarness(Elaboratable):
    """Harness with arbitrary streams and sink that observes one arbitrary stream."""

    def __init__(self, merge: type = Merge, *, inputs: int):
        self._merge = merge
        self._inputs = inputs

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._merge(Completion(T3Parameters(contexts=1)), self._inputs)
        free(m, dut.o.ready, *(one for i in dut.i for one in (i.valid, i.p)))
        valid, ready = Signal(self._inputs), Signal(self._inputs)
        m.d.comb += [
            valid.eq(Cat(i.valid for i in dut.i)),
            ready.eq(Cat(i.ready for i in dut.i)),
            Assert(dut.o.valid == valid.any(), "valid: differs from the inputs"),
            Assert(
                (ready & valid).any() == moves(dut.o),
                "inputs and output transfer different numbers",
            ),
        ]
        for index, i in enumerate(dut.i):
            unchanged = ~moves(i) | (dut.o.p == i.p)
            m.d.comb += Assert(unchanged, f"the payload of {index} changes")
        _assert_turns(
            m, valid, ready & valid, seen=dut.o.ready, taken=moves(dut.o), first=dut.pick.first
        )
        return m


PROOFS = (
    Proof(
        name="merge2",
        statement="Whenever a payload is offered, a transfer passes one offered payload unchanged; "
        "while both streams wait, they take turns",
        blocks=(Merge2,),
        harness=Merge2Harness,
        geometry="widest payload of the reference",
        depth=2,
        cover_depth=3,
    ),
    *(
        Proof(
            name=f"round-robin-{inputs}",
            statement="There is exactly one grant whenever there is a request, and it goes to the "
            "first request at or after the pointer; a request lets every other one pass at most "
            "once",
            blocks=(RoundRobinPick,),
            harness=partial(PickHarness, inputs=inputs),
            geometry=f"{inputs} inputs",
            depth=2,
            cover_depth=inputs + 2,
            slow=inputs != 3,
        )
        # 32 for the channels of the reference, 3 for a number that is not a power of two.
        for inputs in (2, 3, 8, 32)
    ),
    Proof(
        name="merge-4",
        statement="Whenever a payload is offered, a transfer passes one offered payload unchanged; "
        "it is the first one at or after the pointer, so a stream lets every other one pass at "
        "most once",
        blocks=(Merge,),
        harness=partial(MergeHarness, inputs=4),
        geometry="4 inputs, payload of the tracker",
        depth=2,
        cover_depth=6,
        slow=True,
    ),
)
