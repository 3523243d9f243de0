# amaranth: UnusedElaboratable=no
"""One side of a physical link that loses, repeats, corrupts, delays and reorders flits."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import LinkPacket
from rtl.interface.signatures import ErrorSignature
from rtl.lib.round_robin import Merge
from rtl.lib.sleep import may_sleep
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

from .flit_crc import FlitCheck, FlitStamp
from .flow import LinkFlow
from .layouts import Control, ControlWord, Flit, FlitBody, FlowFlit, SessionState
from .parameters import LinkParameters
from .session import LinkSession
from .watch import LinkWatch

__all__ = ["LinkEndpoint"]

_COUNTER_BITS = 32


class LinkEndpoint(wiring.Component):
    """Delivers every packet once and in order, whatever the physical link does to its flits.

    `docs/link.md` has the flit bit by bit and the protocol. Either side may be reset at any time:
    both then begin a new session, and no packet of the former one is delivered in it. A packet
    that is taken in cycle *t* is at ``send`` in *t + 4*; one that is at ``receive`` in *t* is at
    ``o`` in *t + 5*; one per cycle each way. Channels that share it take turns at the link, and
    none waits for another one's receiver. Every output is a register, the end of a memory or a
    function of one endpoint's registers; none depends combinationally on an input.

    Parameters
    ----------
    p : :class:`T3Parameters`
        Geometry.
    link : :class:`LinkParameters`
        Sizes and times; both sides have the same ``channels``, ``sequence_bits``,
        ``lifetime_cycles`` and ``contexts``.
    sends, receives : bool
        Packets go, packets come. The other side must fit.
    has_words : bool
        Control words go where packets come from, and come from where packets go. They are of the
        flow of channel 0.

    Members
    -------
    packets : In(stream).array(channels)
        To the other side. Taken in a session only.
    o : Out(stream).array(channels)
        From the other side.
    tell : In(array of :func:`ControlWord`)
        State of each context that the other side is to know. What it is in cycle *t* never goes
        before a packet that is taken in *t* or earlier.
    told : Out(array of :func:`ControlWord`)
        What the other side told last in this session, in order with the packets at ``o``; 0 before,
        and from the second cycle without a session on.
    send : Out(stream of :class:`Flit`)
        Without a packet a flit tells this side's state: if that is new, and every ``idle_cycles``.
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
        Cycles in which a channel's flow went back, and flits that arrived corrupt, since reset.
    awake : Out(1)
        Without the watch and the counter of time, rooms of their own: see
        :func:`~rtl.lib.sleep.may_sleep`.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters` or ``link`` not a :class:`LinkParameters`.
    ValueError
        If control is larger than a packet.
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
        control, packet = Control(self._word, link).size, self._shape.size
        if control > packet:
            raise ValueError(f"Control of {control} bits must fit into a packet of {packet}")
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
                "awake": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        link, flows = self._link, self._flows
        m.submodules.session = session = LinkSession(link)
        m.submodules.check = check = FlitCheck(self._shape, link)
        m.submodules.stamp = stamp = FlitStamp(self._shape, link)
        watch = LinkWatch(link)
        m.submodules.watch = may_sleep(watch, platform)
        remind = self._remind(m, platform)
        awake = [remind, session.awake, check.awake, stamp.awake]
        wiring.connect(m, wiring.flipped(self.receive), check.i)
        wiring.connect(m, stamp.o, wiring.flipped(self.send))
        for number, flow in enumerate(flows):
            m.submodules[f"flow_{number}"] = flow
            wiring.connect(m, wiring.flipped(self.packets[number]), flow.packets)
            wiring.connect(m, flow.o, wiring.flipped(self.o[number]))
            m.d.comb += [
                flow.open.eq(session.open),
                flow.remind.eq(remind),
                flow.rest.eq(~Cat(each.has_item for each in flows).any()),
            ]
            awake.append(flow.awake)
        m.d.comb += [flows[0].tell.eq(self.tell), self.told.eq(flows[0].told)]
        awake.append(self._make_flits(m, session, stamp, remind))
        self._hear_flits(m, session, check, watch)
        awake += self._report(m, session, check, watch)
        m.d.comb += self.awake.eq(Cat(awake).any())
        return m

    def _remind(self, m: Module, platform) -> Value:
        """High in one cycle of ``idle_cycles`` and one."""
        timer = WideCounter(self._link.idle_cycles.bit_length())
        m.submodules.idle_timer = may_sleep(timer, platform)
        m.d.comb += [timer.step.eq(1), timer.clear.eq(timer.o[-1])]
        return timer.o[-1]

    def _make_flits(self, m: Module, session, stamp, remind) -> Value:
        """In a session those of the flows in turn, else this side's state. Gives when something of
        that changes."""
        link, flows = self._link, self._flows
        m.submodules.merge = merge = Merge(FlitBody(self._shape, link), len(flows))
        for number, (flow, into) in enumerate(zip(flows, merge.i, strict=True)):
            m.d.comb += [
                into.valid.eq(flow.flit.valid),
                flow.flit.ready.eq(into.ready),
                into.p.channel.eq(number),
                *(
                    into.p[name].eq(flow.flit.p[name])
                    for name in FlowFlit(self._shape, link).members
                ),
            ]
        state = Signal(Control(self._word, link))
        told, due = Signal.like(session.state), Signal(init=1)
        is_new, is_ready = Signal(), Signal()
        m.d.sync += told.eq(session.state)
        m.d.comb += [
            state.session.eq(session.state),
            is_ready.eq(session.state == SessionState.READY),
            is_new.eq((told != session.state) | remind),
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
                # While it is ready it says so at all times: the other side must hear it twice, and
                # this side may be ready for a cycle only.
                stamp.i.valid.eq(due | is_ready),
                stamp.i.p.packet.as_value()[: state.shape().size].eq(state),
            ]
        return is_new | due | is_ready | merge.awake

    def _hear_flits(self, m: Module, session, check, watch) -> None:
        """Those of a session are for the flow of their channel, if this side has it, too."""
        flit = check.o.p.body
        layout = Control(self._word, self._link)
        control = data.View(layout, flit.packet.as_value()[: layout.size])
        intact, is_of_session = Signal(), Signal()
        m.d.comb += [
            intact.eq(check.o.valid & ~check.o.p.corrupt),
            session.heard.eq(intact),
            session.told.eq(Mux(flit.data, SessionState.OPEN, control.session)),
            session.restart.eq(self.restart),
            session.empty.eq(Cat(flow.empty for flow in self._flows).all()),
            self.open.eq(session.open),
            watch.heard.eq(intact),
            is_of_session.eq(session.open & (session.told == SessionState.OPEN)),
        ]
        for number, flow in enumerate(self._flows):
            m.d.comb += [
                flow.arrives.valid.eq(check.o.valid & is_of_session & (flit.channel == number)),
                flow.arrives.p.eq(check.o.p),
            ]

    def _report(self, m: Module, session, check, watch) -> list[Value]:
        m.submodules.replay_count = replays = WideCounter(_COUNTER_BITS)
        m.submodules.corrupt_count = corrupt = WideCounter(_COUNTER_BITS)
        lost = Signal()  # not reported yet
        with m.If(session.lost):
            m.d.sync += lost.eq(1)
        with m.Elif(~watch.fell):
            m.d.sync += lost.eq(0)
        m.d.comb += [
            watch.waiting.eq(Cat(flow.waiting for flow in self._flows).any() | ~session.open),
            watch.progress.eq(Cat(flow.progress for flow in self._flows).any()),
            replays.step.eq(Cat(flow.replay for flow in self._flows).any()),
            corrupt.step.eq(check.o.valid & check.o.p.corrupt),
            self.error.valid.eq(watch.fell | lost),
            self.error.report.code.eq(Mux(watch.fell, ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET)),
            self.down.eq(watch.down),
            self.replays.eq(replays.o),
            self.corrupt.eq(corrupt.o),
        ]
        return [lost, session.lost, replays.awake, corrupt.awake]
