"""CRC of flits: generated in front of the physical link, checked behind it."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .crc import CrcTree
from .layouts import CheckedFlit, Flit, FlitBody
from .parameters import LinkParameters

__all__ = ["FlitCheck", "FlitStamp"]


class FlitStamp(wiring.Component):
    """CRC generator: appends the CRC to each flit, with a latency of two cycles.

    Both stages advance whenever the last one is free, so ``i.ready`` depends on ``o.ready``.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Packet.

    Members
    -------
    i : In(stream of :class:`FlitBody`)
    o : Out(stream of :class:`Flit`)
    """

    def __init__(self, shape, link: LinkParameters):
        self._body = FlitBody(shape, link)
        super().__init__(
            {
                "i": In(stream.Signature(self._body)),
                "o": Out(stream.Signature(Flit(shape, link))),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = CrcTree(self._body.size)
        body = Signal(self._body, reset_less=True)
        stamped = Signal.like(self.o.p, reset_less=True)
        valid = Signal()
        m.d.comb += [
            self.i.ready.eq(self.o.ready | ~self.o.valid),
            crc.i.eq(body),
            self.o.p.eq(stamped),
            self.clock_enable.eq(self.i.ready & (self.i.valid | valid | self.o.valid)),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                valid.eq(self.i.valid),
                self.o.valid.eq(valid),
                stamped.body.eq(body),
                stamped.crc.eq(crc.o),
            ]
            with m.If(self.i.valid):
                m.d.sync += body.eq(self.i.p)
        return m


class FlitCheck(wiring.Component):
    """CRC checker of flits, with a latency of three cycles.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Packet.

    Members
    -------
    i : In(stream of :class:`Flit`)
        Flits, always accepted.
    o : Out(stream of :class:`CheckedFlit`)
        Checked flits, always accepted.
    """

    def __init__(self, shape, link: LinkParameters):
        self._flit = Flit(shape, link)
        super().__init__(
            {
                "i": In(stream.Signature(self._flit, always_ready=True)),
                "o": Out(stream.Signature(CheckedFlit(shape, link), always_ready=True)),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        body = self._flit["body"].shape
        m.submodules.crc = crc = CrcTree(body.size)
        flit = Signal(self._flit, reset_less=True)
        late = Signal(self._flit, reset_less=True)
        expected = Signal(len(crc.o), reset_less=True)
        checked = Signal.like(self.o.p, reset_less=True)
        valid = Signal(2)
        m.d.comb += [
            crc.i.eq(flit.body),
            self.o.p.eq(checked),
            self.clock_enable.eq(self.i.valid | valid.any() | self.o.valid),
        ]
        m.d.sync += [
            valid.eq(Cat(self.i.valid, valid[0])),
            late.eq(flit),
            expected.eq(crc.o),
            self.o.valid.eq(valid[1]),
            checked.body.eq(late.body),
            checked.corrupt.eq(late.crc != expected),
        ]
        with m.If(self.i.valid):
            m.d.sync += flit.eq(self.i.p)
        return m
