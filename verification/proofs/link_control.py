"""Proof of the link's control words: in order with packets, with bounded rate and delay."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from rtl.link.control import ControlReceiver, ControlSender
from rtl.link.parameters import LinkParameters

from .invariant import invariant
from .proof import Proof
from .streams import free, moves

__all__ = ["PROOFS"]

_LINK = LinkParameters(contexts=2, control_interval=4)
_PACKET_BITS = 6
_WORD_BITS = 2
# Longest wait of a word when the other context has one, too: the rest of an interval and the cycle
# that ends it, the word of the other context, and another interval.
_MOST_PLACES = 2 * _LINK.control_interval + 1


class LinkControlHarness(Elaboratable):
    """Harness of a sender and a receiver of control words.

    The connection between them keeps the order and may stop in any cycle. The harness observes one
    arbitrary context.
    """

    def __init__(self, teller: type = ControlSender, listener: type = ControlReceiver):
        self._teller, self._listener = teller, listener

    def elaborate(self, platform):
        m = Module()
        m.submodules.teller = teller = self._teller(_PACKET_BITS, _WORD_BITS, _LINK)
        m.submodules.listener = listener = self._listener(_PACKET_BITS, _WORD_BITS, _LINK)
        moves_now, context = Signal(), Signal(range(_LINK.contexts))
        free(m, teller.packets.valid, teller.packets.p, teller.words, listener.o.ready, moves_now)
        m.d.comb += [
            context.eq(AnyConst(context.shape())),
            listener.i.valid.eq(teller.o.valid & moves_now),
            listener.i.p.eq(teller.o.p),
            teller.o.ready.eq(listener.i.ready & moves_now),
        ]
        self._assert_packets(m, teller, listener)
        self._assert_words(m, teller, listener, context)
        self._assert_share(m, teller)
        self._assert_wait(m, teller, context)
        return m

    def _assert_packets(self, m: Module, teller, listener) -> None:
        """Assert that packets pass, and that no other packet appears."""
        passes = moves(listener.o)
        m.d.comb += [
            Assert(passes == moves(teller.packets), "a packet is lost or invented"),
            Assert(~passes | (listener.o.p == teller.packets.p), "a packet changes"),
        ]

    def _assert_words(self, m: Module, teller, listener, context) -> None:
        """Assert that a delivered word is the word sent when the last packet passed."""
        received, before, last = Signal(_WORD_BITS), Signal(_WORD_BITS), Signal(_WORD_BITS)
        m.d.comb += received.eq(listener.words[context])
        m.d.sync += [before.eq(received), last.eq(teller.words[context])]
        older = Signal.like(last)  # word at the sender two cycles ago
        m.d.sync += older.eq(last)
        changed, went = received != before, Signal()
        m.d.sync += went.eq(moves(teller.o) & teller.goes & (teller.turn == context))
        m.d.comb += [
            Assert(
                ~(changed | went) | (received == older), "the delivered word is not the sent one"
            ),
            invariant(teller.latest[context] == last, "latest"),
            invariant(teller.known[context] == received, "known"),
            Cover(changed & moves(listener.o), "a word arrives before a packet"),
        ]

    def _assert_share(self, m: Module, teller) -> None:
        """Assert that words leave places for packets between them."""
        places = Signal(range(_LINK.control_interval), init=_LINK.control_interval - 1)
        word = moves(teller.o) & teller.o.p.control
        with m.If(word):
            m.d.sync += places.eq(0)
        with m.Elif(teller.o.ready):
            m.d.sync += places.eq(places + ~places.all())
        m.d.comb += [
            Assert(~word | places.all(), "words take too many places"),
            invariant(teller.places == places, "places"),
            invariant(~teller.goes | places.all(), "goes too soon"),
        ]

    def _assert_wait(self, m: Module, teller, context) -> None:
        """Assert that a new word goes soon, whatever the other context sends."""
        waits = Signal(range(_MOST_PLACES + 2))
        news = teller.latest[context] != teller.known[context]
        goes = moves(teller.o) & teller.goes & (teller.turn == context)
        with m.If(~news | goes):
            m.d.sync += waits.eq(0)
        with m.Elif(teller.o.ready):
            m.d.sync += waits.eq(Mux(waits > _MOST_PLACES, waits, waits + 1))
        interval, is_next = _LINK.control_interval, teller.turn == context
        rest = Mux(teller.goes, 1, interval + 1 - teller.places)
        m.d.comb += [
            Assert(waits <= _MOST_PLACES, "a word waits for too many packets"),
            invariant(
                waits + rest + Mux(is_next, 0, interval + 1) <= _MOST_PLACES + 1, "remaining wait"
            ),
            Cover(waits == _MOST_PLACES, "the longest wait"),
        ]


PROOFS = (
    Proof(
        name="link-control",
        statement="Control words stay in order with the packets around them, take at most one "
        "place in control_interval, and wait for at most two intervals",
        blocks=(ControlSender, ControlReceiver),
        harness=LinkControlHarness,
        geometry="2 contexts with words of 2 bits, packets of 6 bits, one place in 4",
        reason="words and packets are only moved; contexts take turns",
        depth=16,
        cover_depth=20,
    ),
)
