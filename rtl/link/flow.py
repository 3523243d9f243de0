# amaranth: UnusedElaboratable=no
"""A channel's packets over a link, with numbers, replay memory and credits of their own."""

from dataclasses import replace

from amaranth.hdl import Cat, Const, Module, ResetInserter, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.memory_queue import MemoryQueue

from .control import ControlListener, ControlTeller
from .layouts import CheckedFlit, Control, FlowFlit, Item, ReverseState, SessionState
from .parameters import LinkParameters
from .receiver import LinkReceiver
from .sender import LinkSender

__all__ = ["LinkFlow"]

_WORDS = 16  # in the memories of a direction without packets


class LinkFlow(wiring.Component):
    """Makes flits of a channel's packets, and packets of its flits.

    It shares the endpoint with other channels' flows, and nothing else: what it waits for and what
    it sends again holds up none of them.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Of a packet.
    word : :class:`~amaranth.hdl.ShapeLike`
        Of a context.
    link : :class:`LinkParameters`
    sends, receives : bool
        Packets go, packets come.
    has_words : bool
        Control words go where packets come from, and come from where packets go.

    Members
    -------
    open : In(1)
        There is a session. Without one it forgets all but the packet that ``o`` offers.
    packets : In(stream)
        Taken in a session only.
    o : Out(stream)
    tell, told : In, Out(array of ``word``)
    remind : In(1)
        Say once more how things stand.
    rest : In(1)
        No flow of the endpoint has an item to send.
    flit : Out(stream of :func:`FlowFlit`)
        In a session. What is offered may change until it is taken.
    has_item : Out(1)
        ``flit`` has one.
    arrives : In(stream of :func:`CheckedFlit`)
        Of this channel and a session. Always taken.
    empty : Out(1)
        Nothing waits for ``o``.
    progress, waiting, replay : Out(1)
        See :class:`LinkSender`.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.
    """

    def __init__(
        self, shape, word, link: LinkParameters, *, sends: bool, receives: bool, has_words: bool
    ):
        self._shape, self._word, self._link = shape, word, link
        self._control = Control(word, link)
        self._sends, self._receives = sends, receives
        self._tells, self._hears = has_words and receives, has_words and sends
        words = data.ArrayLayout(word, link.contexts)
        super().__init__(
            {
                "open": In(1),
                "packets": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "tell": In(words),
                "told": Out(words),
                "remind": In(1),
                "rest": In(1),
                "flit": Out(stream.Signature(FlowFlit(shape, link))),
                "has_item": Out(1),
                "arrives": In(stream.Signature(CheckedFlit(shape, link), always_ready=True)),
                "empty": Out(1),
                "progress": Out(1),
                "waiting": Out(1),
                "replay": Out(1),
                "awake": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Each session finds them as after a reset.
        anew = ResetInserter(~self.open)
        was_open = Signal()
        m.d.sync += was_open.eq(self.open)
        awake = [self.open != was_open]
        state, changes = Signal(ReverseState(self._link)), Signal()
        if self._receives or self._hears:
            awake += self._receive(m, anew, state, changes)
        else:
            m.d.comb += self.empty.eq(1)
        if self._sends or self._tells:
            awake += self._send(m, anew)
        awake.append(self._offer(m, state, changes))
        m.d.comb += self.awake.eq(Cat(awake).any())
        return m

    def _receive(self, m: Module, anew: ResetInserter, state, changes) -> list[Value]:
        """Packets in order and the words between them. Gives when this half is awake."""
        shape = self._shape if self._receives else unsigned(self._control.size)
        item = Item(shape) if self._hears else shape
        depth = self._link.receive_depth if self._receives else _WORDS
        receiver = LinkReceiver(item, replace(self._link, receive_depth=depth))
        m.submodules.receiver = anew(receiver)
        # What waits has room in its memory, so that all that comes is taken.
        m.submodules.arrivals = arrivals = MemoryQueue(item, depth=depth + 1, split=True)
        body, into = self.arrives.p.body, receiver.i.p.body
        packet = Value.cast(body.packet)
        m.d.comb += [
            arrivals.i.valid.eq(receiver.o.valid),
            arrivals.i.p.eq(receiver.o.p),
            receiver.i.valid.eq(self.arrives.valid),
            receiver.i.p.corrupt.eq(self.arrives.p.corrupt),
            into.sequence.eq(body.sequence),
            receiver.leave.eq(arrivals.o.valid & arrivals.o.ready),
            state.eq(receiver.state),
            changes.eq(receiver.changes),
            self.empty.eq(arrivals.level == 0),
        ]
        if self._hears:
            has_word = data.View(self._control, packet[: self._control.size]).told
            m.d.comb += [
                into.data.eq(body.data | has_word),
                into.packet.control.eq(~body.data),
                Value.cast(into.packet.packet).eq(packet),
            ]
        else:
            m.d.comb += [into.data.eq(body.data), Value.cast(into.packet).eq(packet)]
        return [receiver.changes, arrivals.awake, *self._deliver(m, anew, shape, arrivals.o)]

    def _deliver(self, m: Module, anew: ResetInserter, shape, arrived) -> list[Value]:
        """Of an ended session only what is offered already still leaves, the rest is dropped; the
        next session waits for both."""
        if self._hears:
            listener = ControlListener(shape, self._word, self._link)
            m.submodules.listener = anew(listener)
            wiring.connect(m, arrived, listener.i)
            m.d.comb += self.told.eq(listener.told)
            arrived = listener.o
        if not self._receives:
            m.d.comb += arrived.ready.eq(1)
            return []
        offered, passes, waits = Signal(), Signal(), Signal()
        m.d.sync += offered.eq(waits)
        m.d.comb += [
            passes.eq(self.open | offered),
            waits.eq(self.o.valid & ~self.o.ready),
            self.o.valid.eq(arrived.valid & passes),
            self.o.p.eq(arrived.p),
            arrived.ready.eq(self.o.ready | ~passes),
        ]
        return [waits != offered]

    def _send(self, m: Module, anew: ResetInserter) -> list[Value]:
        """Packets and the words between them. Gives when this half is awake."""
        shape = self._shape if self._sends else unsigned(self._control.size)
        item = Item(shape) if self._tells else shape
        depth = self._link.replay_depth if self._sends else _WORDS
        sender = LinkSender(item, replace(self._link, replay_depth=depth))
        m.submodules.sender = anew(sender)
        packets, awake = sender.packets, [sender.awake]
        if self._tells:
            teller = ControlTeller(shape, self._word, self._link)
            m.submodules.teller = anew(teller)
            wiring.connect(m, teller.o, packets)
            m.d.comb += teller.tell.eq(self.tell)
            packets = teller.packets
            awake.append(teller.awake)
        if self._sends:
            m.d.comb += [
                packets.valid.eq(self.packets.valid & self.open),
                packets.p.eq(self.packets.p),
                self.packets.ready.eq(packets.ready & self.open),
            ]
        body, reverse, flit = self.arrives.p.body, sender.reverse, self.flit.p
        sent = sender.o.p.packet
        m.d.comb += [
            reverse.valid.eq(self.arrives.valid & ~self.arrives.p.corrupt),
            *(reverse.p[name].eq(body[name]) for name in ReverseState(self._link).members),
            self.progress.eq(sender.progress),
            self.waiting.eq(sender.waiting),
            self.replay.eq(sender.replay),
            self.has_item.eq(sender.o.valid),
            sender.o.ready.eq(self.flit.ready),
            flit.sequence.eq(sender.o.p.sequence),
            flit.data.eq(sender.o.valid & ~(sent.control if self._tells else Const(0))),
        ]
        with m.If(sender.o.valid):
            m.d.comb += Value.cast(flit.packet).eq(Value.cast(sent.packet if self._tells else sent))
        return awake

    def _offer(self, m: Module, state, changes) -> Value:
        """A flit if there is an item or news, and one behind the last item: it tells that there was
        one. Gives when something of that changes."""
        news, behind = Signal(init=1), Signal()
        taken = Signal()
        flit = self.flit.p
        session = data.View(self._control, Value.cast(flit.packet)[: self._control.size]).session
        m.d.comb += [
            taken.eq(self.flit.valid & self.flit.ready),
            self.flit.valid.eq(self.has_item | news | (behind & self.rest)),
            *(flit[name].eq(state[name]) for name in ReverseState(self._link).members),
        ]
        with m.If(~self.has_item):
            m.d.comb += session.eq(SessionState.OPEN)
        with m.If(taken):
            m.d.sync += [news.eq(0), behind.eq(self.has_item)]
        with m.If(changes | self.remind | ~self.open):
            m.d.sync += news.eq(1)
        with m.If(~self.open):
            m.d.sync += behind.eq(0)
        return taken | changes | self.remind
