"""One side of a physical link that loses, repeats, corrupts, delays and reorders flits."""

from amaranth.hdl import Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import LinkPacket
from rtl.interface.signatures import ErrorSignature
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

from .control import ControlListener, ControlTeller
from .flit_crc import FlitCheck, FlitStamp
from .layouts import Control, ControlWord, Flit, Item, SessionState
from .parameters import LinkParameters
from .receiver import LinkReceiver
from .sender import LinkSender
from .session import LinkSession
from .watch import LinkWatch

__all__ = ["LinkEndpoint"]

_COUNTER_BITS = 32


class LinkEndpoint(wiring.Component):
    """Delivers every packet once and in order, whatever the physical link does to its flits.

    `docs/link.md` has the flit bit by bit and the protocol. Either side may be reset at any time:
    both then begin a new session, and no packet of the former one is delivered in it. A packet
    that is taken in cycle *t* is at ``send`` in *t + 4*; one that is at ``receive`` in *t* is at
    ``o`` in *t + 5*; one per cycle each way. Every output is a register, the end of a memory or a
    function of one endpoint's registers; none depends combinationally on an input.

    Parameters
    ----------
    p : :class:`T3Parameters`
        Geometry.
    link : :class:`LinkParameters`
        Sizes and times; both sides have the same ``sequence_bits``, ``lifetime_cycles`` and
        ``contexts``.

    Members
    -------
    packets : In(stream)
        To the other side. Taken in a session only.
    o : Out(stream)
        From the other side.
    tell : In(array of :func:`ControlWord`)
        State of each context that the other side is to know. What it is in cycle *t* never goes
        before a packet that is taken in *t* or earlier.
    told : Out(array of :func:`ControlWord`)
        What the other side told last in this session, in order with the packets at ``o``; 0 before,
        and from the second cycle without a session on.
    send : Out(stream of :class:`Flit`)
        Always valid from the third cycle on: without a packet a flit tells this side's state.
    receive : In(stream of :class:`Flit`)
        Always taken.
    restart : In(1)
        Give the session up and begin a new one: what was taken and not delivered yet is lost. Held,
        it keeps the link from beginning.
    open : Out(1)
        There is a session.
    error : Out(:class:`ErrorSignature`)
        ``LINK_DOWN``, once when the link goes down, and ``LINK_RESET``, once when the other side
        gives a session up; the tile means nothing.
    down : Out(1)
        The link makes no progress. It recovers by itself.
    replays, corrupt : Out(32)
        How often it went back, and flits that arrived corrupt, since reset.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters` or ``link`` not a :class:`LinkParameters`.
    ValueError
        If control is larger than a packet.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters | None = None):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        if link is None:
            link = LinkParameters(contexts=p.contexts)
        if not isinstance(link, LinkParameters):
            raise TypeError(f"Link must be LinkParameters, not {link!r}")
        self._shape, self._link = LinkPacket(p), link
        self._word = ControlWord(p)
        control, packet = Control(self._word, link).size, self._shape.size
        if control > packet:
            raise ValueError(f"Control of {control} bits must fit into a packet of {packet}")
        words = data.ArrayLayout(self._word, link.contexts)
        flit = Flit(self._shape, link)
        super().__init__(
            {
                "packets": In(stream.Signature(self._shape)),
                "o": Out(stream.Signature(self._shape)),
                "tell": In(words),
                "told": Out(words),
                "send": Out(stream.Signature(flit)),
                "receive": In(stream.Signature(flit, always_ready=True)),
                "restart": In(1),
                "open": Out(1),
                "error": Out(ErrorSignature(p)),
                "down": Out(1),
                "replays": Out(_COUNTER_BITS),
                "corrupt": Out(_COUNTER_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape, link = self._shape, self._link
        m.submodules.session = session = LinkSession(link)
        m.submodules.check = check = FlitCheck(shape, link)
        m.submodules.watch = watch = LinkWatch(link)
        teller = ControlTeller(shape, self._word, link)
        sender, receiver = LinkSender(Item(shape), link), LinkReceiver(Item(shape), link)
        listener = ControlListener(shape, self._word, link)
        # Each session finds them as after a reset.
        anew = ResetInserter(~session.open)
        m.submodules.teller, m.submodules.sender = anew(teller), anew(sender)
        m.submodules.receiver, m.submodules.listener = anew(receiver), anew(listener)
        wiring.connect(m, receiver.told, sender.reverse)
        wiring.connect(m, wiring.flipped(self.receive), check.i)
        self._take_packets(m, session, teller, sender)
        self._make_flits(m, session, sender, receiver)
        self._hear_flits(m, session, check, receiver, watch)
        self._buffer(m, session, receiver, listener)
        self._report(m, session, sender, check, watch)
        return m

    def _take_packets(self, m: Module, session, teller, sender) -> None:
        """In a session, and with the control words between them."""
        wiring.connect(m, teller.o, sender.packets)
        m.d.comb += [
            teller.tell.eq(self.tell),
            teller.packets.valid.eq(self.packets.valid & session.open),
            teller.packets.p.eq(self.packets.p),
            self.packets.ready.eq(teller.packets.ready & session.open),
        ]

    def _make_flits(self, m: Module, session, sender, receiver) -> None:
        """What the sender has, or else this side's state, with what the receiver knows."""
        m.submodules.stamp = stamp = FlitStamp(self._shape, self._link)
        wiring.connect(m, stamp.o, wiring.flipped(self.send))
        body, numbered = stamp.i.p, sender.o.p
        state = Signal(Control(self._word, self._link))
        has_item = Signal()
        m.d.comb += [
            sender.o.ready.eq(stamp.i.ready),
            stamp.i.valid.eq(1),
            body.acknowledge.eq(receiver.state.acknowledge),
            body.limit.eq(receiver.state.limit),
            body.missing.eq(receiver.state.missing),
            state.session.eq(session.state),
            has_item.eq(numbered.data & session.open),
            body.data.eq(has_item & ~numbered.packet.control),
            body.sequence.eq(numbered.sequence),
            body.packet.as_value().eq(
                Mux(has_item, numbered.packet.packet.as_value(), state.as_value())
            ),
        ]

    def _hear_flits(self, m: Module, session, check, receiver, watch) -> None:
        """Those of a session are for the receiver, if this side has it, too."""
        flit, arrives = check.o.p.body, receiver.i.p.body
        layout = Control(self._word, self._link)
        control = data.View(layout, flit.packet.as_value()[: layout.size])
        intact = Signal()
        m.d.comb += [
            intact.eq(check.o.valid & ~check.o.p.corrupt),
            session.heard.eq(intact),
            session.told.eq(Mux(flit.data, SessionState.OPEN, control.session)),
            session.restart.eq(self.restart),
            self.open.eq(session.open),
            watch.heard.eq(intact),
            receiver.i.valid.eq(check.o.valid & session.open & (session.told == SessionState.OPEN)),
            receiver.i.p.corrupt.eq(check.o.p.corrupt),
            arrives.data.eq(flit.data | control.told),
            arrives.sequence.eq(flit.sequence),
            arrives.acknowledge.eq(flit.acknowledge),
            arrives.limit.eq(flit.limit),
            arrives.missing.eq(flit.missing),
            arrives.packet.control.eq(~flit.data),
            arrives.packet.packet.eq(flit.packet),
        ]

    def _buffer(self, m: Module, session, receiver, listener) -> None:
        """What arrived in order. Of an ended session only what is offered already still leaves, the
        rest is dropped; the next session waits for both."""
        item = receiver.o.p
        offered, passes = Signal(), Signal()
        m.submodules.arrived = arrived = SyncFIFOBuffered(
            width=item.shape().size, depth=self._link.receive_depth
        )
        m.d.sync += offered.eq(self.o.valid & ~self.o.ready)
        m.d.comb += [
            passes.eq(session.open | offered),
            self.o.valid.eq(listener.o.valid & passes),
            self.o.p.eq(listener.o.p),
            listener.o.ready.eq(self.o.ready | ~passes),
            arrived.w_en.eq(receiver.o.valid),
            arrived.w_data.eq(item),
            listener.i.valid.eq(arrived.r_rdy),
            listener.i.p.eq(arrived.r_data),
            arrived.r_en.eq(listener.i.ready),
            receiver.leave.eq(arrived.r_rdy & listener.i.ready),
            self.told.eq(listener.told),
            session.empty.eq(arrived.level == 0),
        ]

    def _report(self, m: Module, session, sender, check, watch) -> None:
        m.submodules.replay_count = replays = WideCounter(_COUNTER_BITS)
        m.submodules.corrupt_count = corrupt = WideCounter(_COUNTER_BITS)
        lost = Signal()  # not reported yet
        with m.If(session.lost):
            m.d.sync += lost.eq(1)
        with m.Elif(~watch.fell):
            m.d.sync += lost.eq(0)
        m.d.comb += [
            watch.waiting.eq(sender.waiting | ~session.open),
            watch.progress.eq(sender.progress),
            replays.step.eq(sender.replay),
            corrupt.step.eq(check.o.valid & check.o.p.corrupt),
            self.error.valid.eq(watch.fell | lost),
            self.error.report.code.eq(Mux(watch.fell, ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET)),
            self.down.eq(watch.down),
            self.replays.eq(replays.o),
            self.corrupt.eq(corrupt.o),
        ]
