"""Proof of the tracker front: every event reaches its bank once and in its channel's order."""

from types import SimpleNamespace

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import (
    Array,
    Assert,
    Assume,
    Cat,
    Const,
    Cover,
    Elaboratable,
    Module,
    Signal,
    Value,
)

from rtl.interface.layouts import TrackerInput
from rtl.parameters import T3Parameters
from rtl.tracker.front import TrackerFront

from .invariant import invariant
from .proof import Proof
from .streams import free, moves

__all__ = ["PROOFS"]

_P = T3Parameters(
    channels=2,
    system_channels=2,
    contexts=2,
    banks=4,
    sets=4,
    wavefronts=4,
    workgroup_bits=3,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=11,
)
_MOST = 2  # most events of a channel inside the block
_NUMBER_BITS = 2  # bits of the event numbers in the addresses


def _is_for(bank: int, event) -> Value:
    """Signal that an event belongs to a bank: the wavefront's bits are in reverse order."""
    low = event.dispatch_index[0] ^ event.wavefront[1]
    high = event.dispatch_index[1] ^ event.wavefront[0]
    return Cat(low, high) == bank


class TrackerFrontHarness(Elaboratable):
    """Harness with arbitrary channels and arbitrary space in the banks.

    The address of each event contains its channel and its number in that channel, which identifies
    the events that leave. One arbitrary event is observed with all its fields.
    """

    def __init__(self, front: type = TrackerFront):
        self._front = front

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._front(_P)
        free(m, dut.space)
        had_space = Signal(_P.banks)
        m.d.sync += had_space.eq(dut.space)
        channels = [self._number(m, dut, index) for index in range(_P.channels)]
        followed = self._follow(m, dut, channels)
        for bank, out in enumerate(dut.o):
            m.d.comb += [
                Assert(~out.valid | had_space[bank], f"bank {bank}: an event without space"),
                Assert(~out.valid | _is_for(bank, out.p), f"bank {bank}: an event of another bank"),
            ]
        m.d.comb += [
            Cover(dut.o[0].valid & dut.o[3].valid, "events for two banks"),
            Cover(
                Cat(channel.held == _MOST for channel in channels).all(), "all channels are full"
            ),
        ]
        # Input chosen for each bank in the previous cycle.
        chosen = [Signal(_P.channels, name=f"chose_{bank}") for bank in range(_P.banks)]
        m.d.sync += [one.eq(grants) for one, grants in zip(chosen, dut.grants, strict=True)]
        for bank, one in enumerate(chosen):
            first = dut.picks[bank].first
            m.d.comb += [
                invariant(dut.o[bank].valid == one.any(), f"bank {bank}: valid"),
                invariant((one & (one - 1)) == 0, f"bank {bank}: two are chosen"),
                invariant(first.any() & ((first & (first - 1)) == 0), f"bank {bank}: pointer"),
            ]
        for index, (channel, queue) in enumerate(zip(channels, dut.candidates, strict=True)):
            _relate(m, index, channel, queue, followed, Cat(c[index] for c in chosen))
        self._compare_contexts(m, dut, channels)
        return m

    def _compare_contexts(self, m: Module, dut, channels: list[SimpleNamespace]) -> None:
        """Assert that a context without an event is empty, whatever events the others have."""
        for number, empty in enumerate(dut.empty):
            came = Signal(name=f"came_{number}")
            with m.If(Cat(c.comes & (c.event.owner == number) for c in channels).any()):
                m.d.sync += came.eq(1)
            m.d.comb += [
                Assert(came | empty, f"{number}: waits for events of other contexts"),
                Cover(~came & ~dut.empty.all(), f"{number}: empty beside another context"),
            ]
            for index, queue in enumerate(dut.candidates):
                slots = Array(queue.slots)
                for there, slot in (
                    (queue.valid, slots[queue.head]),
                    (queue.full, slots[~queue.head]),
                ):
                    of_other = ~there | (slot.owner != number)
                    m.d.comb += invariant(came | of_other, f"{index}: an event of {number}")

    def _number(self, m: Module, dut, index: int) -> SimpleNamespace:
        """Number the events of a channel, and assert that they leave in order."""
        issue_acks, ends = dut.issue_acks[index], dut.ends[index]
        free(m, issue_acks.valid, issue_acks.p, ends.valid, ends.p)
        put, given, held = (
            Signal(_NUMBER_BITS, name=f"{name}_{index}") for name in ("put", "given", "held")
        )
        event = Signal(TrackerInput(_P), name=f"event_{index}")
        comes, leaves = Signal(name=f"comes_{index}"), Signal(name=f"leaves_{index}")
        number = Signal(_NUMBER_BITS + 1, name=f"number_{index}")
        of_channel = [out.valid & (out.p.atom[0] == index) for out in dut.o]
        m.d.sync += [put.eq(put + comes), given.eq(given + leaves)]
        m.d.comb += [
            held.eq(put - given),
            comes.eq(moves(issue_acks) | moves(ends)),
            leaves.eq(Cat(of_channel).any()),
            number.eq(Cat(Const(index, 1), put)),
            Assume(issue_acks.p.atom == number),
            Assume(ends.p.atom == number),
            Assert(~(moves(issue_acks) & moves(ends)), f"{index}: two events are taken"),
            Assert(sum(of_channel) <= 1, f"{index}: two events leave"),
            Assert(~leaves | (held != 0), f"{index}: a surplus event leaves"),
            Assert(
                comes | (held >= 2) | ~(issue_acks.valid | ends.valid),
                f"{index}: not ready, although there is space",
            ),
            Cover(comes & leaves & (held == 2), f"{index}: an event enters while another leaves"),
        ]
        with m.If(moves(ends)):
            m.d.comb += event.eq(ends.p)
        with m.Else():
            m.d.comb += [
                event[name].eq(issue_acks.p[name])
                for name in ("owner", "dispatch_index", "wavefront", "atom", "count")
            ]
        for out, mine in zip(dut.o, of_channel, strict=True):
            m.d.comb += Assert(
                ~mine | (out.p.atom[1:] == given), f"{index}: lost, repeated, or out of order"
            )
        return SimpleNamespace(put=put, given=given, held=held, event=event, comes=comes)

    def _follow(self, m: Module, dut, channels: list[SimpleNamespace]) -> SimpleNamespace:
        follows, event = Signal(), Signal(TrackerInput(_P))
        who = Signal(range(_P.channels))
        m.d.comb += who.eq(AnyConst(len(who)))
        for index, channel in enumerate(channels):
            with m.If(~follows & AnySeq(1) & channel.comes & (who == index)):
                m.d.sync += [follows.eq(1), event.eq(channel.event)]
        leaves: Value = Const(0, 1)
        for out in dut.o:
            with m.If(follows & out.valid & (out.p.atom == event.atom)):
                m.d.sync += follows.eq(0)
                m.d.comb += [
                    Assert(out.p == event, "an event changes"),
                    Cover(event.end & (event.tile_atoms == 3), "an end-of-tile marker"),
                    Cover(~event.end & (event.count == 9), "updates"),
                ]
                leaves |= follows & out.valid & (out.p.atom == event.atom)
        m.d.comb += invariant(~follows | (event.atom[0] == who), "the observed channel: differs")
        for number, empty in enumerate(dut.empty):
            waits = follows & ~leaves & (event.owner == number)
            m.d.comb += Assert(~waits | ~empty, f"{number}: empty while an event waits")
        return SimpleNamespace(follows=follows, event=event)


def _relate(m: Module, index: int, channel, queue, followed, chosen: Value) -> None:
    """Relate the slots of a channel's candidates and the last taken one to the ghost state."""
    taken = Signal(name=f"taken_{index}")
    m.d.sync += taken.eq(queue.take)
    slots = Array(queue.slots)
    first, second = slots[queue.head], slots[~queue.head]
    held, given = channel.held, channel.given
    m.d.comb += [
        invariant(held == queue.valid + queue.full + taken, f"{index}: held"),
        invariant(queue.valid | ~queue.full, f"{index}: full without a first event"),
        invariant(queue.tail == queue.head ^ queue.valid ^ queue.full, f"{index}: head and tail"),
        invariant(~taken | (queue.last == ~queue.head), f"{index}: last"),
        invariant(taken == chosen.any(), f"{index}: taken"),
        invariant((chosen & (chosen - 1)) == 0, f"{index}: chosen twice"),
        invariant(~taken | ~queue.full, f"{index}: full after a taken event"),
    ]
    followed_number = followed.event.atom[1:]
    with m.If(followed.follows & (followed.event.atom[0] == index)):
        m.d.comb += invariant(
            (followed_number - given)[:_NUMBER_BITS] < held, f"{index}: the observed event left"
        )
    dispatch_indices = (
        (taken, queue.taken, given, chosen),
        (queue.valid, first, given + taken, queue.bank),
        (queue.full, second, given + 1, queue.next_bank),
    )
    for name, (there, slot, number, bank) in zip(
        ("taken", "first", "next"), dispatch_indices, strict=True
    ):
        is_followed = followed.follows & (followed.event.atom == slot.atom)
        with m.If(there):
            m.d.comb += [
                invariant(
                    slot.atom == Cat(Const(index, 1), number[:_NUMBER_BITS]),
                    f"{index}: {name}: event",
                ),
                invariant(
                    ~is_followed | (Value.cast(slot) == Value.cast(followed.event)),
                    f"{index}: {name}: the event changes",
                ),
                *(
                    invariant(bank[of] == _is_for(of, slot), f"{index}: {name}: bank {of}")
                    for of in range(_P.banks)
                ),
            ]
    m.d.comb += invariant(queue.valid | ~queue.bank.any(), f"{index}: a bank without an event")


PROOFS = (
    Proof(
        name="tracker-front",
        statement="Every update and end-of-tile marker of a channel reaches the bank of its "
        "dispatch index and wavefront once, unchanged and in the channel's order, and only in the "
        "cycle after one in which that bank has space; a channel is not held up while it has space",
        blocks=(TrackerFront,),
        harness=TrackerFrontHarness,
        geometry="2 channels, 2 contexts, 4 banks, dispatch indices of 3 bits, 4 wavefronts",
        reason="channels share only the choice among them, for which round-robin is proven with up "
        "to 32 inputs",
        depth=2,
        cover_depth=9,
        slow=True,
    ),
)
