"""Control words, which are sent between the packets and in order with them."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .layouts import Control, Item, SessionState
from .parameters import LinkParameters

__all__ = ["ControlReceiver", "ControlSender"]


class ControlSender(wiring.Component):
    """Control sender: inserts a context's control word between the packets when it has changed.

    Contexts take turns; a context without a change takes a cycle while another context has a
    change. A word that changes in cycle *t* is at ``o`` in *t + 2* at the earliest, so it never
    overtakes a packet that was taken in *t* or earlier.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Packet.
    word : :class:`~amaranth.hdl.ShapeLike`
        Control word of a context.

    Members
    -------
    packets : In(stream)
        Packets; ``ready`` depends on ``o.ready``.
    words : In(array of ``word``)
        Control word of each context. After reset the receiver assumes 0.
    o : Out(stream of :class:`Item`)
        Packets and control words. The payload may change until it is taken. Between two words there
        are at least ``control_interval - 1`` cycles in which a packet is taken or could be taken.


    Attributes
    ----------
    Proofs read these attributes, but never drive them.

    latest : Signal
        ``words`` of the last cycle.
    known : Signal
        Words that were sent last.
    turn : Signal
        Context that is checked, or whose word is sent.
    goes : Signal
        A word is at ``o`` in this cycle.
    places : Signal
        Cycles since the last word in which a packet was taken or could be taken, at most
        ``control_interval - 1``.
    """

    def __init__(self, shape, word, link: LinkParameters):
        self._contexts = link.contexts
        words = data.ArrayLayout(word, link.contexts)
        super().__init__(
            {
                "packets": In(stream.Signature(shape)),
                "words": In(words),
                "o": Out(stream.Signature(Item(shape))),
                "clock_enable": Out(1),
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
            self.clock_enable.eq(
                has_news
                | goes
                | (self.latest.as_value() != self.words.as_value())
                | (self.o.ready & ~places.all())
            ),
            control.session.eq(SessionState.OPEN),
            control.has_word.eq(1),
            control.context.eq(turn),
            control.word.eq(self.latest[turn]),
            self.packets.ready.eq(self.o.ready & ~goes),
            self.o.valid.eq(self.packets.valid | goes),
            self.o.p.control.eq(goes),
            Value.cast(self.o.p.packet).eq(
                Mux(goes, control.as_value(), Value.cast(self.packets.p))
            ),
        ]
        m.d.sync += self.latest.eq(self.words)
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


class ControlReceiver(wiring.Component):
    """Control receiver: extracts the control words from between the packets, in order.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Packet.
    word : :class:`~amaranth.hdl.ShapeLike`
        Control word of a context.

    Members
    -------
    i : In(stream of :class:`Item`)
        Packets and control words; ``ready`` depends on ``o.ready``.
    o : Out(stream)
        Packets.
    words : Out(array of ``word``)
        Control word of each context, 0 after reset. Register: holds a word from the cycle after the
        word was taken, before any packet that follows the word.
    """

    def __init__(self, shape, word, link: LinkParameters):
        self._control = Control(word, link)
        super().__init__(
            {
                "i": In(stream.Signature(Item(shape))),
                "o": Out(stream.Signature(shape)),
                "words": Out(data.ArrayLayout(word, link.contexts)),
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
            m.d.sync += self.words[control.context].eq(control.word)
        return m
