"""Merges: every payload passes once and unchanged, and every stream has its turn."""

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
    """Both streams and the sink do what they like."""

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
            Assert(dut.o.valid == (dut.a.valid | dut.b.valid), "valid: not as the inputs"),
            Assert((from_a + from_b) == moves(dut.o), "not one taken for one given"),
            Assert(~from_a | (dut.o.p == dut.a.p), "a's payload changes"),
            Assert(~from_b | (dut.o.p == dut.b.p), "b's payload changes"),
            Assert(~(both & from_a) | b_was_last, "a goes twice while b waits"),
            Assert(~(both & from_b) | ~b_was_last, "b goes twice while a waits"),
            Cover(both & from_a & b_was_last, "a has its turn"),
            Cover(both & from_b, "b has its turn"),
            Cover(both & ~dut.o.ready, "both wait"),
            invariant(dut.last == b_was_last, "the last one is another"),
        ]
        return m


def _assert_turns(
    m: Module, requests: Value, grant: Value, *, seen: ValueLike, taken: Value, first: Value
) -> None:
    """The first request at or after a pointer is granted; the pointer is behind what was taken.

    Hence a request that stays is granted after at most as many others as there are.

    Parameters
    ----------
    requests, grant : Value
    seen : ValueLike
        The grant can be seen; otherwise it is 0.
    taken : Value
        The grant is made use of.
    first : Value
        The block's pointer, one-hot.
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
        Assert((grant & (grant - 1)) == 0, "two are granted"),
        Assert((grant & ~requests) == 0, "what does not ask is granted"),
        Assert(grant.any() == (seen & requests.any()), "nothing is granted, though something asks"),
        Assert(~(seen & asks) | (of_granted <= of_who), "the pointer's nearest is passed over"),
        Assert(others < inputs, "a request waits for more than all others"),
        Cover(others == inputs - 1, "a request waits for all others"),
        invariant(first == 1 << pointer, "the pointer is another"),
        invariant((others == 0) | (others + of_who < inputs), "a turn does not come nearer"),
    ]


class PickHarness(Elaboratable):
    """Requests come and go, and are granted or not; follows one input, whichever."""

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
    """The streams and the sink do what they like; follows one stream, whichever."""

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
            Assert(dut.o.valid == valid.any(), "valid: not as the inputs"),
            Assert((ready & valid).any() == moves(dut.o), "not one taken for one given"),
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
        statement="A transfer gives one offered payload, unchanged, whenever one is offered; "
        "while both wait they take turns",
        blocks=(Merge2,),
        harness=Merge2Harness,
        geometry="the reference's widest payload",
        depth=2,
        cover_depth=3,
    ),
    *(
        Proof(
            name=f"round-robin-{inputs}",
            statement="At most one grant, one whenever there is a request, to the first at or "
            "after the pointer; a request waits for each other at most once",
            blocks=(RoundRobinPick,),
            harness=partial(PickHarness, inputs=inputs),
            geometry=f"{inputs} inputs",
            depth=2,
            cover_depth=inputs + 2,
            slow=inputs != 3,
        )
        for inputs in (2, 3, 8, 32)  # the reference's 32 channels, and no power of two
    ),
    Proof(
        name="merge-4",
        statement="A transfer gives one offered payload, unchanged, whenever one is offered; "
        "it is the first at or after the pointer, so a stream waits for each other at most once",
        blocks=(Merge,),
        harness=partial(MergeHarness, inputs=4),
        geometry="4 inputs, the tracker's payload",
        depth=2,
        cover_depth=6,
        slow=True,
    ),
)
