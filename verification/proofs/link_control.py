"""Control words of a link: in order with the packets, not too often, and not too late."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from rtl.link.control import ControlListener, ControlTeller
from rtl.link.parameters import LinkParameters

from .invariant import invariant
from .proof import Proof
from .streams import free, moves

__all__ = ["PROOFS"]

_LINK = LinkParameters(contexts=2, control_interval=4)
_PACKET_BITS = 6
_WORD_BITS = 2
# Until a word is next, with news of the other context: the rest of an interval and the cycle that
# ends it, the other one's place, and another interval.
_MOST_PLACES = 2 * _LINK.control_interval + 1


class LinkControlHarness(Elaboratable):
    """A teller and a listener; what is between them keeps the order, and stops in any cycle.

    One context, whichever, is followed.
    """

    def __init__(self, teller: type = ControlTeller, listener: type = ControlListener):
        self._teller, self._listener = teller, listener

    def elaborate(self, platform):
        m = Module()
        m.submodules.teller = teller = self._teller(_PACKET_BITS, _WORD_BITS, _LINK)
        m.submodules.listener = listener = self._listener(_PACKET_BITS, _WORD_BITS, _LINK)
        moves_now, context = Signal(), Signal(range(_LINK.contexts))
        free(m, teller.packets.valid, teller.packets.p, teller.tell, listener.o.ready, moves_now)
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
        """Packets pass, and nothing else does."""
        passes = moves(listener.o)
        m.d.comb += [
            Assert(passes == moves(teller.packets), "a packet is lost or made"),
            Assert(~passes | (listener.o.p == teller.packets.p), "a packet changes"),
        ]

    def _assert_words(self, m: Module, teller, listener, context) -> None:
        """What is told now was to be told when the last packet had passed, not earlier."""
        told, before, last = Signal(_WORD_BITS), Signal(_WORD_BITS), Signal(_WORD_BITS)
        m.d.comb += told.eq(listener.told[context])
        m.d.sync += [before.eq(told), last.eq(teller.tell[context])]
        older = Signal.like(last)  # of the cycle in which what changes now was at the teller
        m.d.sync += older.eq(last)
        changed, went = told != before, Signal()
        m.d.sync += went.eq(moves(teller.o) & teller.goes & (teller.turn == context))
        m.d.comb += [
            Assert(~(changed | went) | (told == older), "what is told is not what was to be told"),
            invariant(teller.latest[context] == last, "latest"),
            invariant(teller.known[context] == told, "known"),
            Cover(changed & moves(listener.o), "a word before a packet"),
        ]

    def _assert_share(self, m: Module, teller) -> None:
        """Between two words there are places for packets."""
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
        """News of a context go soon, whatever the other one has."""
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
            Assert(waits <= _MOST_PLACES, "news wait for too many packets"),
            invariant(
                waits + rest + Mux(is_next, 0, interval + 1) <= _MOST_PLACES + 1, "what is left"
            ),
            Cover(waits == _MOST_PLACES, "waits for long"),
        ]


PROOFS = (
    Proof(
        name="link-control",
        statement="Control words stay in order with the packets between which they go, take one "
        "place in control_interval at most, and wait for two intervals at most",
        blocks=(ControlTeller, ControlListener),
        harness=LinkControlHarness,
        geometry="2 contexts with words of 2 bits, packets of 6, one place in 4",
        reason="Words and packets are only moved; contexts take turns",
        depth=16,
        cover_depth=20,
    ),
)
