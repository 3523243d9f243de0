"""Control words: they go between the packets, so they stay in order with them."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .layouts import Control, Item, SessionState
from .parameters import LinkParameters

__all__ = ["ControlListener", "ControlTeller"]


class ControlTeller(wiring.Component):
    """Puts a context's control word between the packets when it has changed.

    Contexts take turns; one without news takes a cycle while another one has some. A word that
    changes in cycle *t* is at ``o`` in *t + 2* at the earliest, so it never goes before a packet
    that was taken in *t* or earlier.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Of a packet.
    word : :class:`~amaranth.hdl.ShapeLike`
        Of a context.
    link : :class:`LinkParameters`

    Members
    -------
    packets : In(stream)
        ``ready`` depends on ``o.ready``.
    tell : In(array of ``word``)
        Of each context. That it is 0 is known after reset.
    o : Out(stream of :class:`Item`)
        What is offered may change until it is taken. Between two words ``control_interval - 1``
        packets at least are taken, or could have been.

    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    For proofs to read, never to drive.

    latest : Signal
        ``tell`` of the last cycle.
    known : Signal
        The words that went last.
    turn : Signal
        Context that is looked at, or whose word is to go.
    goes : Signal
        A word is at ``o`` in this cycle.
    places : Signal
        Packets since a word that were taken, or could have been, ``control_interval - 1`` at most.
    """

    def __init__(self, shape, word, link: LinkParameters):
        self._contexts = link.contexts
        words = data.ArrayLayout(word, link.contexts)
        super().__init__(
            {
                "packets": In(stream.Signature(shape)),
                "tell": In(words),
                "o": Out(stream.Signature(Item(shape))),
                "awake": Out(1),
            }
        )
        self._control = Control(word, link)
        self.latest = Signal(words)
        self.known = Signal(words)
        self.turn = Signal(range(link.contexts))
        self.goes = Signal()
        most = link.control_interval - 1
        self.places = Signal(range(link.control_interval), init=most)

    def elaborate(self, platform):
        m = Module()
        turn, goes, places = self.turn, self.goes, self.places
        control = Signal(self._control)
        moves_on, has_news = Signal(), Signal()
        m.d.comb += [
            has_news.eq(self.latest.as_value() != self.known.as_value()),
            self.awake.eq(
                has_news
                | goes
                | (self.latest.as_value() != self.tell.as_value())
                | (self.o.ready & ~places.all())
            ),
            control.session.eq(SessionState.OPEN),
            control.told.eq(1),
            control.context.eq(turn),
            control.word.eq(self.latest[turn]),
            self.packets.ready.eq(self.o.ready & ~goes),
            self.o.valid.eq(self.packets.valid | goes),
            self.o.p.control.eq(goes),
            Value.cast(self.o.p.packet).eq(
                Mux(goes, control.as_value(), Value.cast(self.packets.p))
            ),
        ]
        m.d.sync += self.latest.eq(self.tell)
        with m.If(goes):
            with m.If(self.o.ready):
                m.d.comb += moves_on.eq(1)
                m.d.sync += [goes.eq(0), places.eq(0), self.known[turn].eq(control.word)]
        with m.Else():
            news = self.latest[turn] != self.known[turn]
            m.d.comb += moves_on.eq(~news & has_news)
            m.d.sync += [
                goes.eq(news & places.all()),
                places.eq(places + (self.o.ready & ~places.all())),
            ]
        with m.If(moves_on):
            m.d.sync += turn.eq(Mux(turn == self._contexts - 1, 0, turn + 1))
        return m


class ControlListener(wiring.Component):
    """Takes the control words from between the packets, each in its turn.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Of a packet.
    word : :class:`~amaranth.hdl.ShapeLike`
        Of a context.
    link : :class:`LinkParameters`

    Members
    -------
    i : In(stream of :class:`Item`)
        ``ready`` depends on ``o.ready``.
    o : Out(stream)
        The packets.
    told : Out(array of ``word``)
        Of each context, 0 after reset. A register: it has a word in the cycle after the one in
        which that was taken, before any packet that followed it.
    """

    def __init__(self, shape, word, link: LinkParameters):
        self._control = Control(word, link)
        super().__init__(
            {
                "i": In(stream.Signature(Item(shape))),
                "o": Out(stream.Signature(shape)),
                "told": Out(data.ArrayLayout(word, link.contexts)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        item = self.i.p
        control = data.View(self._control, Value.cast(item.packet)[: self._control.size])
        m.d.comb += [
            self.o.valid.eq(self.i.valid & ~item.control),
            self.o.p.eq(item.packet),
            self.i.ready.eq(self.o.ready | item.control),
        ]
        with m.If(self.i.valid & item.control):
            m.d.sync += self.told[control.context].eq(control.word)
        return m
