"""Runs: packets of consecutive atoms, which share a frame."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import PacketKind

from .layouts import RUN_BITS

__all__ = ["RunDetector"]


class RunDetector(wiring.Component):
    """Run detector: finds out whether a packet continues the run of the packet before it.

    A packet continues a run if both packets carry data, its atom is the next one in the same
    aligned block of :data:`FRAME_ATOMS` atoms, and all other fields except the data are equal.

    Parameters
    ----------
    shape : :class:`~amaranth.lib.data.StructLayout`
        Packet.

    Members
    -------
    packet : In(packet)
    is_word : In(1)
        A control word has the place of the packet. It ends a run.
    take : In(1)
        The packet or word is taken in this cycle.
    continues : Out(1)
        The packet continues the run of the one that was taken last.
    """

    def __init__(self, shape):
        self._fields = [name for name in shape.members if name not in ("atom", "data")]
        super().__init__(
            {"packet": In(shape), "is_word": In(1), "take": In(1), "continues": Out(1)}
        )

    def elaborate(self, platform):
        m = Module()
        packet = self.packet
        place, block = packet.atom[:RUN_BITS], packet.atom[RUN_BITS:]
        header = Cat(block, *(packet[name] for name in self._fields))
        # Header of the packet that was taken last, the next place, and whether a run may go on.
        last, next_place, goes_on = Signal.like(header), Signal(RUN_BITS), Signal()
        m.d.comb += self.continues.eq(
            goes_on & ~self.is_word & (place == next_place) & (header == last)
        )
        with m.If(self.take):
            m.d.sync += goes_on.eq(~self.is_word & (packet.kind != PacketKind.END) & ~place.all())
            with m.If(~self.is_word):
                m.d.sync += [last.eq(header), next_place.eq(place + 1)]
        return m
