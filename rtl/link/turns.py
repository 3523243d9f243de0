"""Turns of the channels at the wires and at the ports."""

from collections.abc import Callable

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.round_robin import RoundRobinPick
from rtl.lib.select import one_hot_select

from .layouts import FRAME_ATOMS, RUN_BITS

__all__ = ["MOST_IN_TURN", "FrameMerge", "RunMerge"]

MOST_IN_TURN = 2 * FRAME_ATOMS - 1
"""Most packets in a turn: a frame's, and the rest of the block in which the last one lies."""


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


class RunMerge(wiring.Component):
    """Round-robin merge of streams of packets, whose turns are runs.

    ``o`` follows the inputs in the same cycle, one packet per cycle. An input keeps its turn while
    it offers packets: for eight packets, and then up to the last atom of a block in which a frame
    lies, but for at most :data:`MOST_IN_TURN` packets. So the packets of a run stay together, and a
    frame of the link can carry them. Inputs that always offer packets get at least eight packets
    each, whatever their atoms are; a waiting input lets each other one pass for one turn. ``ready``
    of an input depends combinationally on every ``valid`` and on ``o.ready``.

    Parameters
    ----------
    shape : :class:`~amaranth.lib.data.StructLayout`
        Packet.
    inputs : int
        Number of streams, at least 1.
    atom_of : callable
        Returns the atom of a packet.

    Members
    -------
    i : In(stream).array(inputs)
    o : Out(stream)

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    pick : RoundRobinPick or None
        Arbiter; None with one stream.
    last : Signal
        Input that sent last, one-hot; 0 before the first packet.
    goes_on : Signal
        The turn of this input goes on, if it offers a packet.
    count : Signal
        Packets of the turn behind its first one.
    """

    def __init__(self, shape, inputs: int, atom_of: Callable[[data.View], Value]):
        self._atom_of = atom_of
        super().__init__(
            {
                "i": In(stream.Signature(shape)).array(inputs),
                "o": Out(stream.Signature(shape)),
                "clock_enable": Out(1),
            }
        )
        self.pick = RoundRobinPick(inputs) if inputs > 1 else None
        self.last, self.goes_on = Signal(inputs), Signal()
        self.count = Signal(range(MOST_IN_TURN))

    def elaborate(self, platform):
        m = Module()
        pick = self.pick
        if pick is None:
            wiring.connect(m, wiring.flipped(self.i[0]), wiring.flipped(self.o))
            return m
        m.submodules.pick = pick
        keeps, grant, count = Signal(), Signal(len(self.i)), Signal.like(self.count)
        m.d.comb += [
            pick.requests.eq(Cat(source.valid for source in self.i)),
            keeps.eq(self.goes_on & (pick.requests & self.last).any()),
            pick.take.eq(self.o.ready & ~keeps),
            grant.eq(Mux(keeps, self.last, pick.grant)),
            count.eq(Mux(keeps, self.count + 1, 0)),
            self.o.valid.eq(pick.requests.any()),
            self.o.p.eq(one_hot_select(grant, (source.p for source in self.i))),
            self.clock_enable.eq(self.o.valid & self.o.ready),
        ]
        of_block = self._atom_of(self.o.p)[:RUN_BITS].all()
        ends = (count == MOST_IN_TURN - 1) | ((count >= FRAME_ATOMS - 1) & of_block)
        with m.If(self.clock_enable):
            m.d.sync += [self.last.eq(grant), self.count.eq(count), self.goes_on.eq(~ends)]
        for source, one in zip(self.i, grant, strict=True):
            m.d.comb += source.ready.eq(self.o.ready & one)
        return m
