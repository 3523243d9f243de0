"""One side of a physical link that loses, repeats, corrupts, delays and reorders flits."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import Packet
from rtl.interface.signatures import ErrorSignature
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

from .flit_crc import FlitCheck, FlitStamp
from .layouts import Flit
from .parameters import LinkParameters
from .receiver import LinkReceiver
from .sender import LinkSender
from .watch import LinkWatch

__all__ = ["LinkEndpoint"]

_COUNTER_BITS = 32


class LinkEndpoint(wiring.Component):
    """Delivers every packet once and in order, whatever the physical link does to its flits.

    `docs/link.md` has the flit bit by bit and the protocol. Both sides of a link are reset
    together. A packet that is taken in cycle *t* is at ``send`` in *t + 4*; one that is at
    ``receive`` in *t* is at ``o`` in *t + 5*; one per cycle each way. Every output is a register,
    the end of a memory or a function of one endpoint's registers; none depends combinationally on
    an input.

    Parameters
    ----------
    p : :class:`T3Parameters`
        Geometry.
    link : :class:`LinkParameters`
        Sizes and times; both sides have the same ``sequence_bits``.

    Members
    -------
    packets : In(stream)
        To the other side.
    o : Out(stream)
        From the other side.
    send : Out(stream of :class:`Flit`)
        Always valid from the third cycle on: without a packet a flit tells the receiver's state.
    receive : In(stream of :class:`Flit`)
        Always taken.
    error : Out(:class:`ErrorSignature`)
        ``LINK_DOWN``, once when the link goes down; the tile means nothing.
    down : Out(1)
        The link makes no progress. It recovers by itself.
    replays, corrupt : Out(32)
        How often it went back, and flits that arrived corrupt, since reset.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters` or ``link`` not a :class:`LinkParameters`.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters | None = None):
        if link is None:
            link = LinkParameters()
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        if not isinstance(link, LinkParameters):
            raise TypeError(f"Link must be LinkParameters, not {link!r}")
        self._shape, self._link = Packet(p), link
        flit = Flit(self._shape, link)
        super().__init__(
            {
                "packets": In(stream.Signature(self._shape)),
                "o": Out(stream.Signature(self._shape)),
                "send": Out(stream.Signature(flit)),
                "receive": In(stream.Signature(flit, always_ready=True)),
                "error": Out(ErrorSignature(p)),
                "down": Out(1),
                "replays": Out(_COUNTER_BITS),
                "corrupt": Out(_COUNTER_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape, link = self._shape, self._link
        m.submodules.sender = sender = LinkSender(shape, link)
        m.submodules.stamp = stamp = FlitStamp(shape, link)
        m.submodules.check = check = FlitCheck(shape, link)
        m.submodules.receiver = receiver = LinkReceiver(shape, link)
        m.submodules.arrived = arrived = SyncFIFOBuffered(
            width=len(self.o.p.as_value()), depth=link.receive_depth
        )
        m.submodules.watch = watch = LinkWatch(link)
        m.submodules.replay_count = replays = WideCounter(_COUNTER_BITS)
        m.submodules.corrupt_count = corrupt = WideCounter(_COUNTER_BITS)

        wiring.connect(m, wiring.flipped(self.packets), sender.packets)
        wiring.connect(m, stamp.o, wiring.flipped(self.send))
        wiring.connect(m, wiring.flipped(self.receive), check.i)
        wiring.connect(m, check.o, receiver.i)
        wiring.connect(m, receiver.told, sender.reverse)
        body, numbered = stamp.i.p, sender.o.p
        m.d.comb += [
            stamp.i.valid.eq(1),
            sender.o.ready.eq(stamp.i.ready),
            body.data.eq(numbered.data),
            body.sequence.eq(numbered.sequence),
            body.packet.eq(numbered.packet),
            body.acknowledge.eq(receiver.state.acknowledge),
            body.limit.eq(receiver.state.limit),
            arrived.w_en.eq(receiver.o.valid),
            arrived.w_data.eq(receiver.o.p),
            self.o.valid.eq(arrived.r_rdy),
            self.o.p.eq(arrived.r_data),
            arrived.r_en.eq(self.o.ready),
            receiver.leave.eq(self.o.valid & self.o.ready),
            watch.heard.eq(receiver.told.valid),
            watch.waiting.eq(sender.waiting),
            watch.progress.eq(sender.progress),
            replays.step.eq(sender.replay),
            corrupt.step.eq(receiver.corrupt),
            self.error.valid.eq(watch.fell),
            self.error.report.code.eq(ErrorCode.LINK_DOWN),
            self.down.eq(watch.down),
            self.replays.eq(replays.o),
            self.corrupt.eq(corrupt.o),
        ]
        return m
