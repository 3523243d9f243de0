"""Flow of a channel over a link, with its own sequence numbers, replay memory and credits."""

from dataclasses import replace

from amaranth.hdl import Cat, Const, Module, ResetInserter, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import PacketKind

from .control import ControlReceiver, ControlSender
from .frame_queue import FrameQueue
from .layouts import CheckedFlit, Control, FlowFlit, Item, ReverseState, SessionState
from .parameters import LinkParameters
from .receiver import LinkReceiver
from .runs import RunDetector
from .sender import LinkSender

__all__ = ["LinkFlow"]

_WORDS = 16  # depth of the memories of a direction that carries only control words


class LinkFlow(wiring.Component):
    """Flow of a channel: turns packets into flits, and flits into packets.

    Flows share only the endpoint: neither waiting nor replay of a flow blocks another flow. The
    data of an END packet does not travel, and is 0 at the other side.

    Parameters
    ----------
    shape : :class:`~amaranth.lib.data.StructLayout`
        Packet.
    word : :class:`~amaranth.hdl.ShapeLike`
        Control word of a context.
    sends, receives : bool
        The flow sends packets; the flow receives packets.
    has_words : bool
        Control words travel against the direction of packets.

    Members
    -------
    open : In(1)
        A session is open. Otherwise the flow is reset, except for the packet at ``o``.
    packets : In(stream)
        Packets to send, accepted in a session only.
    o : Out(stream)
        Received packets.
    local_words, peer_words : In, Out(array of ``word``)
        See :class:`ControlSender` and :class:`ControlReceiver`.
    remind : In(1)
        Report the state once more.
    rest : In(1)
        No flow of the endpoint has an item to send.
    flit : Out(stream of :func:`FlowFlit`)
        Flits to send, in a session. The payload may change until it is taken.
    has_item : Out(1)
        ``flit`` carries an item.
    advance : In(1)
        Flits move on towards the wires; see :class:`LinkSender`.
    arrives : In(stream of :func:`CheckedFlit`)
        Received flits of this channel in a session, always accepted.
    empty : Out(1)
        No packet waits for ``o``.
    progress, waiting, replay, holds : Out(1)
        See :class:`LinkSender`.
    """

    def __init__(
        self, shape, word, link: LinkParameters, *, sends: bool, receives: bool, has_words: bool
    ):
        self._shape, self._word, self._link = shape, word, link
        self._control = Control(word, link)
        self._sends, self._receives = sends, receives
        self._sends_words, self._receives_words = has_words and receives, has_words and sends
        words = data.ArrayLayout(word, link.contexts)
        super().__init__(
            {
                "open": In(1),
                "packets": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "local_words": In(words),
                "peer_words": Out(words),
                "remind": In(1),
                "rest": In(1),
                "flit": Out(stream.Signature(FlowFlit(shape, link))),
                "has_item": Out(1),
                "advance": In(1),
                "arrives": In(stream.Signature(CheckedFlit(shape, link), always_ready=True)),
                "empty": Out(1),
                "progress": Out(1),
                "waiting": Out(1),
                "replay": Out(1),
                "holds": Out(1),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # The parts are reset at the beginning of each session.
        anew = ResetInserter(~self.open)
        was_open = Signal()
        m.d.sync += was_open.eq(self.open)
        enables = [self.open != was_open]
        state, changes = Signal(ReverseState(self._link)), Signal()
        if self._receives or self._receives_words:
            enables += self._receive(m, anew, state, changes)
        else:
            m.d.comb += self.empty.eq(1)
        if self._sends or self._sends_words:
            enables += self._send(m, anew)
        enables.append(self._offer(m, state, changes))
        m.d.comb += self.clock_enable.eq(Cat(enables).any())
        return m

    def _receive(self, m: Module, anew: ResetInserter, state, changes) -> list[Value]:
        """Receive packets in order, and the words between them. Return the clock enables."""
        shape = self._shape if self._receives else unsigned(self._control.size)
        item = Item(shape) if self._receives_words else shape
        depth = self._link.receive_depth if self._receives else _WORDS
        receiver = LinkReceiver(item, replace(self._link, receive_depth=depth))
        m.submodules.receiver = anew(receiver)
        # Credits guarantee space in this memory for every packet of an intact frame.
        m.submodules.arrivals = arrivals = FrameQueue(item, depth=depth + 1)
        body, into = self.arrives.p.body, receiver.i.p.body
        packet = Value.cast(body.packet)
        m.d.comb += [
            arrivals.i.valid.eq(receiver.i.valid & into.data),
            arrivals.drop.eq(~receiver.o.valid),
            arrivals.i.p.eq(receiver.o.p),
            receiver.o.ready.eq(arrivals.i.ready),
            arrivals.first.eq(self.arrives.valid & self.arrives.p.first),
            arrivals.commit.eq(receiver.commit),
            receiver.i.valid.eq(self.arrives.valid),
            *(receiver.i.p[name].eq(self.arrives.p[name]) for name in ("first", "last", "corrupt")),
            into.sequence.eq(body.sequence),
            receiver.leave.eq(arrivals.o.valid & arrivals.o.ready),
            state.eq(receiver.state),
            changes.eq(receiver.changes),
            self.empty.eq(arrivals.level == 0),
        ]
        if self._receives_words:
            has_word = data.View(self._control, packet[: self._control.size]).has_word
            m.d.comb += [
                into.data.eq(body.data | has_word),
                into.packet.control.eq(~body.data),
                Value.cast(into.packet.packet).eq(packet),
            ]
        else:
            m.d.comb += [into.data.eq(body.data), Value.cast(into.packet).eq(packet)]
        enables = [receiver.clock_enable, arrivals.clock_enable]
        return [*enables, *self._deliver(m, anew, shape, arrivals.o)]

    def _deliver(self, m: Module, anew: ResetInserter, shape, arrived) -> list[Value]:
        """Deliver packets. After the end of a session the packet that is already offered still
        leaves, and all others are dropped; the next session waits for this."""
        if self._receives_words:
            control_receiver = ControlReceiver(shape, self._word, self._link)
            m.submodules.control_receiver = anew(control_receiver)
            wiring.connect(m, arrived, control_receiver.i)
            m.d.comb += self.peer_words.eq(control_receiver.words)
            arrived = control_receiver.o
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
        """Send packets and the words between them. Return the clock enables."""
        shape = self._shape if self._sends else unsigned(self._control.size)
        item = Item(shape) if self._sends_words else shape
        depth = self._link.replay_depth if self._sends else _WORDS
        sender = LinkSender(item, replace(self._link, replay_depth=depth))
        m.submodules.sender = anew(sender)
        enables = [sender.clock_enable]
        if self._sends:
            m.submodules.runs = runs = anew(RunDetector(shape))
            m.d.comb += [
                runs.take.eq(sender.packets.valid & sender.packets.ready),
                sender.packets.p.continues.eq(runs.continues),
            ]
        if self._sends_words:
            control_sender = ControlSender(shape, self._word, self._link)
            m.submodules.control_sender = anew(control_sender)
            m.d.comb += [
                sender.packets.valid.eq(control_sender.o.valid),
                sender.packets.p.item.eq(control_sender.o.p),
                control_sender.o.ready.eq(sender.packets.ready),
                control_sender.words.eq(self.local_words),
            ]
            enables.append(control_sender.clock_enable)
        if self._sends:
            into, packet = sender.packets, sender.packets.p.item
            if self._sends_words:
                into, packet = control_sender.packets, control_sender.packets.p
                m.d.comb += runs.is_word.eq(control_sender.o.p.control)
            m.d.comb += [
                into.valid.eq(self.packets.valid & self.open),
                packet.eq(self.packets.p),
                self.packets.ready.eq(into.ready & self.open),
                runs.packet.eq(self.packets.p),
            ]
        body, reverse = self.arrives.p.body, sender.reverse
        m.d.comb += [
            reverse.valid.eq(self.arrives.valid & self.arrives.p.last & ~self.arrives.p.corrupt),
            *(reverse.p[name].eq(body[name]) for name in ReverseState(self._link).members),
            self.progress.eq(sender.progress),
            self.waiting.eq(sender.waiting),
            self.replay.eq(sender.replay),
            self.holds.eq(sender.holds),
            self.has_item.eq(sender.o.valid),
        ]
        self._make_flit(m, sender)
        return enables

    def _make_flit(self, m: Module, sender) -> None:
        """Make a flit of the item at the sender's output."""
        sent, flit = sender.o.p.item, self.flit.p
        is_word = sent.control if self._sends_words else Const(0)
        packet = Value.cast(sent.packet if self._sends_words else sent)
        m.d.comb += [
            sender.o.ready.eq(self.flit.ready),
            sender.advance.eq(self.advance),
            flit.sequence.eq(sender.o.p.sequence),
            flit.first.eq(~sender.o.valid | sender.o.p.first),
            flit.data.eq(sender.o.valid & ~is_word),
        ]
        with m.If(sender.o.valid):
            m.d.comb += Value.cast(flit.packet).eq(packet)
            if self._sends:
                view = data.View(self._shape, packet)
                with m.If(view.kind == PacketKind.END):
                    m.d.comb += flit.packet.data.eq(0)

    def _offer(self, m: Module, state, changes) -> Value:
        """Offer a flit for an item or a change of state, and one more behind the last item, by
        which the receiver can detect a lost item. Return the clock enable of this logic.
        """
        news, behind = Signal(init=1), Signal()
        taken, rested = Signal(), Signal()
        flit = self.flit.p
        session = data.View(self._control, Value.cast(flit.packet)[: self._control.size]).session
        m.d.comb += [
            taken.eq(self.flit.valid & self.flit.ready),
            # A read of the replay memory may wait for a cycle, in which there is no item.
            self.flit.valid.eq(self.has_item | news | (behind & self.rest & rested)),
            *(flit[name].eq(state[name]) for name in ReverseState(self._link).members),
        ]
        if not (self._sends or self._sends_words):
            m.d.comb += flit.first.eq(1)
        with m.If(~self.has_item):
            m.d.comb += session.eq(SessionState.OPEN)
        m.d.sync += rested.eq(self.rest)
        with m.If(taken):
            m.d.sync += behind.eq(self.has_item)
            with m.If(flit.first):  # only the first flit of a frame carries the state
                m.d.sync += news.eq(0)
        with m.If(changes | self.remind | ~self.open):
            m.d.sync += news.eq(1)
        with m.If(~self.open):
            m.d.sync += behind.eq(0)
        return taken | changes | self.remind | (rested != self.rest)
