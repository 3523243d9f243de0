"""Port in front of a link endpoint: drops and reports the packets of a link that is down."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import GPU_BITS
from rtl.interface.layouts import LinkPacket, OwnedPacket
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

__all__ = ["LinkPort", "connect_losses"]

_COUNTER_BITS = 32


class LinkPort(wiring.Component):
    """Port of a link endpoint: passes packets while the link is up, drops them while it is down.

    The link goes down when ``off`` rises, or when the endpoint reports that the link makes no
    progress. The session then ends, so no packet of before is sent later; the link is up again from
    the next session on. Before the first session the link is up, and packets wait for the session.
    While the link is down, every offered packet is taken in the cycle of its offer.

    A context has lost a packet if one is dropped, or if the session ends while packets are not
    acknowledged and the context has sent one since all packets were acknowledged.

    Parameters
    ----------
    channels : int
        Channels of the endpoint.

    Members
    -------
    packets : In(stream of :func:`OwnedPacket`).array(channels)
    o : Out(stream of :func:`LinkPacket`).array(channels)
        Packets for the endpoint, in the same cycle.
    off : In(1)
        The physical layer or privileged software takes the link down. While ``off`` is high, no
        session begins.
    open, holds : In(1)
        Outputs of the endpoint.
    fails : In(1)
        The endpoint reports ``LINK_DOWN`` in this cycle.
    restart : Out(1)
        Input of the endpoint.
    down : Out(1)
        The link is down. Register.
    goes_down : Out(1)
        First cycle of ``down``. Register.
    lost : Out(contexts)
        Contexts that lost a packet in the last cycle. Register.
    gpu : Out
        Destination of the packet that was taken or dropped last, of the lowest channel. Register.
    dropped : Out(32)
        Cycles in which packets were dropped, since reset.

    Attributes
    ----------
    Proofs and benches read this attribute, but never drive it.

    unsure : Signal
        Contexts that have sent a packet since all packets were acknowledged.
    """

    def __init__(self, p: T3Parameters, channels: int = 1):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._p = p
        super().__init__(
            {
                "packets": In(stream.Signature(OwnedPacket(p))).array(channels),
                "o": Out(stream.Signature(LinkPacket(p))).array(channels),
                "off": In(1),
                "open": In(1),
                "holds": In(1),
                "fails": In(1),
                "restart": Out(1),
                "down": Out(1),
                "goes_down": Out(1),
                "lost": Out(p.contexts),
                "gpu": Out(GPU_BITS),
                "dropped": Out(_COUNTER_BITS),
                "clock_enable": Out(1),
            }
        )
        self.unsure = Signal(p.contexts)

    def elaborate(self, platform):
        m = Module()
        m.submodules.counter = counter = WideCounter(_COUNTER_BITS)
        was_open, ended = Signal(), Signal()
        offers, taken = Signal(len(self.packets)), Signal(len(self.packets))
        for source, sink in zip(self.packets, self.o, strict=True):
            m.d.comb += [
                sink.valid.eq(source.valid & ~self.down),
                sink.p.eq(source.p.packet),
                source.ready.eq(sink.ready | self.down),
            ]
        drops = self.down & offers.any()
        senders = self._owners(taken)
        lost = Mux(self.down, senders, 0) | Mux(ended, self.unsure, 0)
        targets = [source.p.packet.destination for source in self.packets]
        gpu = one_hot_select(one_hot_first(taken), targets)
        m.d.comb += [
            offers.eq(Cat(source.valid for source in self.packets)),
            taken.eq(offers & Cat(source.ready for source in self.packets)),
            self.restart.eq(self.off | self.fails),
            ended.eq(was_open & ~self.open),
            counter.step.eq(drops),
            self.dropped.eq(counter.o),
        ]
        registers = (
            (was_open, self.open),
            (self.down, self.restart | (self.down & ~self.open)),
            (self.goes_down, self.restart & ~self.down),
            (self.lost, lost),
            (self.gpu, Mux(taken.any(), gpu, self.gpu)),
            (
                self.unsure,
                Mux(self.open & self.holds, self.unsure, 0) | Mux(self.down, 0, senders),
            ),
        )
        m.d.sync += [register.eq(following) for register, following in registers]
        changes = Cat(register != following for register, following in registers)
        m.d.comb += self.clock_enable.eq(changes.any() | counter.clock_enable)
        return m

    def _owners(self, taken: Value) -> Value:
        """Find the contexts of the packets that are taken."""
        return Cat(
            Cat(
                bit & (source.p.owner == number)
                for bit, source in zip(taken, self.packets, strict=True)
            ).any()
            for number in range(self._p.contexts)
        )


def connect_losses(
    m: Module, losses: Sequence[tuple[Value, Value, int]], contexts: Sequence
) -> None:
    """Connect the losses of packets to the ports of the contexts; of a context's losses in a cycle,
    the first one is reported.

    Parameters
    ----------
    losses : sequence of tuple
        For each port: the contexts that lost a packet, the packet's destination, and the number of
        the port.
    contexts : sequence
        Ports of the contexts; see :class:`~rtl.interface.signatures.ContextSignature`.
    """
    for number, context in enumerate(contexts):
        here = Signal(len(losses), name=f"lost_{number}")
        first = one_hot_first(here)
        m.d.comb += [
            here.eq(Cat(lost[number] for lost, _, _ in losses)),
            context.lost.eq(here.any()),
            context.lost_gpu.eq(one_hot_select(first, [gpu for _, gpu, _ in losses])),
            context.lost_port.eq(one_hot_select(first, [port for _, _, port in losses])),
        ]
