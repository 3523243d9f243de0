# amaranth: UnusedElaboratable=no
"""Check bits of flits: made before the physical link, looked at behind it."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .crc import CrcTree
from .layouts import CheckedFlit, Flit, FlitBody
from .parameters import LinkParameters

__all__ = ["FlitCheck", "FlitStamp"]


class FlitStamp(wiring.Component):
    """Gives each flit its check bits. What is taken in cycle *t* is at ``o`` in *t + 2*.

    Both stages move whenever the last one is free, so ``i.ready`` depends on ``o.ready``.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Of a packet.
    link : :class:`LinkParameters`

    Members
    -------
    i : In(stream of :class:`FlitBody`)
    o : Out(stream of :class:`Flit`)
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.
    """

    def __init__(self, shape, link: LinkParameters):
        self._body = FlitBody(shape, link)
        super().__init__(
            {
                "i": In(stream.Signature(self._body)),
                "o": Out(stream.Signature(Flit(shape, link))),
                "awake": Out(1),
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
            self.awake.eq(self.i.ready & (self.i.valid | valid | self.o.valid)),
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
    """Looks at each flit's check bits. What arrives in cycle *t* is at ``o`` in *t + 3*.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Of a packet.
    link : :class:`LinkParameters`

    Members
    -------
    i : In(stream of :class:`Flit`)
        Always taken.
    o : Out(stream of :class:`CheckedFlit`)
        Always taken.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.
    """

    def __init__(self, shape, link: LinkParameters):
        self._flit = Flit(shape, link)
        super().__init__(
            {
                "i": In(stream.Signature(self._flit, always_ready=True)),
                "o": Out(stream.Signature(CheckedFlit(shape, link), always_ready=True)),
                "awake": Out(1),
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
            self.awake.eq(self.i.valid | valid.any() | self.o.valid),
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
