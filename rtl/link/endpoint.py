"""Endpoint of a physical link that may lose, repeat, corrupt, delay and reorder frames."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import LinkPacket
from rtl.interface.signatures import ErrorSignature
from rtl.lib.gating import clock_gated
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

from .flit_crc import FlitCheck, FlitStamp
from .flow import LinkFlow
from .layouts import (
    Control,
    ControlWord,
    Flit,
    FlowFlit,
    SessionState,
    UncheckedFlit,
    atom_bits,
)
from .monitor import LinkMonitor
from .parameters import LinkParameters
from .session import LinkSession
from .turns import FrameMerge

__all__ = ["LinkEndpoint"]

_COUNTER_BITS = 32


class LinkEndpoint(wiring.Component):
    """Link endpoint: delivers every packet once and in order over an unreliable physical link.

    `docs/link.md` specifies the frame and the protocol. Either side may be reset at any time: both
    sides then begin a new session, in which no packet of the former session is delivered. A packet
    that is taken in cycle *t* is at ``send`` in *t + 4*; the packets of a frame whose last flit is
    at ``receive`` in *t* are at ``o`` from *t + 5* on. Each direction carries up to one packet per
    cycle. Channels that share an endpoint take turns at the link, frame by frame, and no channel
    waits for the receiver of another. Every output comes from a register, a memory or logic behind
    registers; none depends combinationally on an input.

    Parameters
    ----------
    p : :class:`T3Parameters`
        Geometry.
    link : :class:`LinkParameters`
        Sizes and times; ``channels``, ``sequence_bits``, ``lifetime_cycles`` and ``contexts`` must
        be the same on both sides.
    sends, receives : bool
        The endpoint sends packets; the endpoint receives packets. The other side must match.
    has_words : bool
        Control words travel against the direction of packets, in the flow of channel 0.

    Members
    -------
    packets : In(stream).array(channels)
        Packets to the other side, accepted in a session only.
    o : Out(stream).array(channels)
        Packets from the other side.
    local_words : In(array of :func:`ControlWord`)
        Control word of each context for the other side. A word of cycle *t* never overtakes a
        packet that is taken in *t* or earlier.
    peer_words : Out(array of :func:`ControlWord`)
        Latest control words of the other side in this session, in order with the packets at ``o``;
        0 before, and from the second cycle without a session on.
    send : Out(stream of :func:`Flit`)
        Flits to the other side; ``valid`` stays high from the first to the last flit of a frame.
        Without packets, a flit reports the local state when it changes, and every ``idle_cycles``.
    receive : In(stream of :func:`Flit`)
        Flits from the other side, always accepted. Pauses inside a frame are allowed.
    restart : In(1)
        End the session and begin a new one; packets that are not delivered yet are lost. While
        ``restart`` is high, no session begins.
    open : Out(1)
        A session is open.
    error : Out(:class:`ErrorSignature`)
        ``LINK_DOWN``, once when the link goes down, and ``LINK_RESET``, once when the other side
        ends a session; the tile is meaningless.
    down : Out(1)
        The link makes no progress. The link recovers by itself.
    holds : Out(1)
        Packets or words are not acknowledged: they are lost if the session ends.
    replays, corrupt : Out(32)
        Cycles in which a flow began a replay, and corrupt frames received, since reset.
    clock_enable : Out(1)
        Clock enable of all parts but the monitor and the idle timer, which have clock gates of
        their own.

    Raises
    ------
    ValueError
        If control is larger than a packet without its data.
    """

    def __init__(
        self,
        p: T3Parameters,
        link: LinkParameters | None = None,
        *,
        sends: bool = True,
        receives: bool = True,
        has_words: bool = True,
    ):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        if link is None:
            link = LinkParameters(contexts=p.contexts)
        if not isinstance(link, LinkParameters):
            raise TypeError(f"Link must be LinkParameters, not {link!r}")
        self._shape, self._link = LinkPacket(p), link
        self._word = ControlWord(p)
        control, packet = Control(self._word, link).size, self._shape.size - atom_bits(self._shape)
        if control > packet:
            raise ValueError(
                f"Control of {control} bits must fit into a packet's header of {packet} bits"
            )
        self._flows = [
            LinkFlow(
                self._shape,
                self._word,
                link,
                sends=sends,
                receives=receives,
                has_words=has_words and number == 0,
            )
            for number in range(link.channels)
        ]
        words = data.ArrayLayout(self._word, link.contexts)
        flit = Flit(self._shape, link)
        super().__init__(
            {
                "packets": In(stream.Signature(self._shape)).array(link.channels),
                "o": Out(stream.Signature(self._shape)).array(link.channels),
                "local_words": In(words),
                "peer_words": Out(words),
                "send": Out(stream.Signature(flit)),
                "receive": In(stream.Signature(flit, always_ready=True)),
                "restart": In(1),
                "open": Out(1),
                "error": Out(ErrorSignature(p)),
                "down": Out(1),
                "holds": Out(1),
                "replays": Out(_COUNTER_BITS),
                "corrupt": Out(_COUNTER_BITS),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        link, flows = self._link, self._flows
        m.submodules.session = session = LinkSession(link)
        m.submodules.check = check = FlitCheck(self._shape, link)
        m.submodules.stamp = stamp = FlitStamp(self._shape, link)
        monitor = LinkMonitor(link)
        m.submodules.monitor = clock_gated(monitor)
        remind = self._remind(m)
        enables = [remind, session.clock_enable, check.clock_enable, stamp.clock_enable]
        wiring.connect(m, wiring.flipped(self.receive), check.i)
        wiring.connect(m, stamp.o, wiring.flipped(self.send))
        for number, flow in enumerate(flows):
            m.submodules[f"flow_{number}"] = flow
            wiring.connect(m, wiring.flipped(self.packets[number]), flow.packets)
            wiring.connect(m, flow.o, wiring.flipped(self.o[number]))
            m.d.comb += [
                flow.open.eq(session.open),
                flow.remind.eq(remind),
                flow.advance.eq(stamp.i.ready),
                flow.rest.eq(~Cat(each.has_item for each in flows).any()),
            ]
            enables.append(flow.clock_enable)
        m.d.comb += [
            flows[0].local_words.eq(self.local_words),
            self.peer_words.eq(flows[0].peer_words),
        ]
        enables.append(self._make_flits(m, session, stamp, remind))
        self._receive_flits(m, session, check, monitor)
        enables += self._report(m, session, check, monitor)
        m.d.comb += self.clock_enable.eq(Cat(enables).any())
        return m

    def _remind(self, m: Module) -> Value:
        """Generate a pulse every ``idle_cycles + 1`` cycles."""
        timer = WideCounter(self._link.idle_cycles.bit_length())
        m.submodules.idle_timer = clock_gated(timer)
        m.d.comb += [timer.step.eq(1), timer.clear.eq(timer.o[-1])]
        return timer.o[-1]

    def _make_flits(self, m: Module, session, stamp, remind) -> Value:
        """Make flits: of the flows in turn in a session, and of the local state otherwise. Return
        the clock enable of this logic.
        """
        link, flows = self._link, self._flows
        m.submodules.merge = merge = FrameMerge(UncheckedFlit(self._shape, link), len(flows))
        for number, (flow, into) in enumerate(zip(flows, merge.i, strict=True)):
            m.d.comb += [
                into.valid.eq(flow.flit.valid),
                flow.flit.ready.eq(into.ready),
                into.p.first.eq(flow.flit.p.first),
                into.p.body.channel.eq(number),
                *(
                    into.p.body[name].eq(flow.flit.p[name])
                    for name in FlowFlit(self._shape, link).members
                    if name != "first"
                ),
            ]
        state = Signal(Control(self._word, link))
        reported, due = Signal.like(session.state), Signal(init=1)
        is_new, is_ready = Signal(), Signal()
        m.d.sync += reported.eq(session.state)
        m.d.comb += [
            state.session.eq(session.state),
            is_ready.eq(session.state == SessionState.READY),
            is_new.eq((reported != session.state) | remind),
            merge.o.ready.eq(stamp.i.ready & session.open),
        ]
        with m.If(is_new):
            m.d.sync += due.eq(1)
        with m.Elif(stamp.i.ready):
            m.d.sync += due.eq(0)
        with m.If(session.open):
            m.d.comb += [stamp.i.valid.eq(merge.o.valid), stamp.i.p.eq(merge.o.p)]
        with m.Else():
            m.d.comb += [
                # In state READY every flit reports it: the other side must receive the state twice,
                # and this side may be in READY for a single cycle.
                stamp.i.valid.eq(due | is_ready),
                stamp.i.p.first.eq(1),
                stamp.i.p.body.packet.as_value()[: state.shape().size].eq(state),
            ]
        return is_new | due | is_ready | merge.clock_enable

    def _receive_flits(self, m: Module, session, check, monitor) -> None:
        """Route flits to the session, and flits of an open session to the flow of their channel."""
        flit = check.o.p.body
        layout = Control(self._word, self._link)
        control = data.View(layout, flit.packet.as_value()[: layout.size])
        intact, is_of_session = Signal(), Signal()
        m.d.comb += [
            intact.eq(check.o.valid & check.o.p.last & ~check.o.p.corrupt),
            session.intact.eq(intact),
            session.peer_state.eq(Mux(flit.data, SessionState.OPEN, control.session)),
            session.restart.eq(self.restart),
            session.empty.eq(Cat(flow.empty for flow in self._flows).all()),
            self.open.eq(session.open),
            monitor.intact.eq(intact),
            is_of_session.eq(session.open & (session.peer_state == SessionState.OPEN)),
        ]
        for number, flow in enumerate(self._flows):
            m.d.comb += [
                flow.arrives.valid.eq(check.o.valid & is_of_session & (flit.channel == number)),
                flow.arrives.p.eq(check.o.p),
            ]

    def _report(self, m: Module, session, check, monitor) -> list[Value]:
        m.submodules.replay_count = replays = WideCounter(_COUNTER_BITS)
        m.submodules.corrupt_count = corrupt = WideCounter(_COUNTER_BITS)
        lost = Signal()  # a lost session is not reported yet
        with m.If(session.lost):
            m.d.sync += lost.eq(1)
        with m.Elif(~monitor.went_down):
            m.d.sync += lost.eq(0)
        m.d.comb += [
            monitor.waiting.eq(Cat(flow.waiting for flow in self._flows).any() | ~session.open),
            monitor.progress.eq(Cat(flow.progress for flow in self._flows).any()),
            replays.step.eq(Cat(flow.replay for flow in self._flows).any()),
            corrupt.step.eq(check.drop),
            self.error.valid.eq(monitor.went_down | lost),
            self.error.report.code.eq(
                Mux(monitor.went_down, ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET)
            ),
            self.down.eq(monitor.down),
            self.holds.eq(Cat(flow.holds for flow in self._flows).any()),
            self.replays.eq(replays.o),
            self.corrupt.eq(corrupt.o),
        ]
        return [lost, session.lost, replays.clock_enable, corrupt.clock_enable]
