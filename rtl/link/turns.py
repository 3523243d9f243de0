"""Turns of the channels at the wires."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.round_robin import RoundRobinPick
from rtl.lib.select import one_hot_select

__all__ = ["FrameMerge"]


class FrameMerge(wiring.Component):
    """Round-robin merge of streams of flits, whose turns are frames.

    ``o`` follows the inputs in the same cycle, one flit per cycle. While the input that sent last
    offers a flit without ``first``, it keeps its turn. ``ready`` of an input depends
    combinationally on every ``valid`` and on ``o.ready``.

    Parameters
    ----------
    shape : :class:`~amaranth.lib.data.StructLayout`
        Flit, with the field ``first``.
    inputs : int
        Number of streams, at least 1.

    Members
    -------
    i : In(stream).array(inputs)
        A flit without ``first`` is offered in the cycle after the flit before it is taken, and by
        no other input until it is taken.
    o : Out(stream)
    """

    def __init__(self, shape, inputs: int):
        super().__init__(
            {
                "i": In(stream.Signature(shape)).array(inputs),
                "o": Out(stream.Signature(shape)),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if len(self.i) == 1:
            wiring.connect(m, wiring.flipped(self.i[0]), wiring.flipped(self.o))
            return m
        m.submodules.pick = pick = RoundRobinPick(len(self.i))
        goes_on, grant, last = Signal(), Signal(len(self.i)), Signal(len(self.i))
        m.d.comb += [
            goes_on.eq(Cat(source.valid & ~source.p.first for source in self.i).any()),
            pick.requests.eq(Cat(source.valid for source in self.i)),
            pick.take.eq(self.o.ready & ~goes_on),
            grant.eq(Mux(goes_on, last, pick.grant)),
            self.o.valid.eq(pick.requests.any()),
            self.o.p.eq(one_hot_select(grant, (source.p for source in self.i))),
            self.clock_enable.eq(self.o.valid & self.o.ready),
        ]
        with m.If(self.clock_enable):
            m.d.sync += last.eq(grant)
        for source, one in zip(self.i, grant, strict=True):
            m.d.comb += source.ready.eq(self.o.ready & one)
        return m
