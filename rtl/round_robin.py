"""Fair choice between streams."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Merge", "Merge2", "RoundRobinPick"]


def _check_inputs(inputs):
    if not isinstance(inputs, int):
        raise TypeError(f"Number of inputs must be an integer, not {inputs!r}")
    if inputs < 1:
        raise ValueError(f"Number of inputs must be at least 1, not {inputs!r}")


class Merge2(wiring.Component):
    """Two streams into one: the stream that did not give last goes first.

    ``o`` follows the inputs in the same cycle, one payload per cycle. ``ready`` of an input
    depends combinationally on both ``valid`` and on ``o.ready``; ``o.valid`` depends on the
    inputs only. After reset ``a`` goes first.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.
    """

    def __init__(self, shape):
        super().__init__(
            {
                "a": In(stream.Signature(shape)),
                "b": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        last = Signal(init=1)
        pick_b = Signal()
        m.d.comb += [
            pick_b.eq(self.b.valid & ~(self.a.valid & last)),
            self.o.valid.eq(self.a.valid | self.b.valid),
            self.o.p.eq(Mux(pick_b, self.b.p, self.a.p)),
            self.a.ready.eq(self.o.ready & ~pick_b),
            self.b.ready.eq(self.o.ready & pick_b),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += last.eq(pick_b)
        return m


class RoundRobinPick(wiring.Component):
    """The first of ``inputs`` requests at or after a pointer, counting up and around.

    Combinational; the pointer, 0 after reset, moves behind ``pick`` in a cycle with ``valid`` and
    ``take``.

    Parameters
    ----------
    inputs : int
        Number of requests, at least 1.

    Raises
    ------
    TypeError
        If ``inputs`` is not an integer.
    ValueError
        If ``inputs`` is less than 1.
    """

    def __init__(self, inputs: int):
        _check_inputs(inputs)
        super().__init__(
            {
                "requests": In(inputs),
                "take": In(1),
                "pick": Out(range(max(inputs, 2))),
                "valid": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        inputs = len(self.requests)
        m.d.comb += self.valid.eq(self.requests.any())
        if inputs == 1:
            return m
        pointer = Signal(range(inputs))
        # Later assignments win: any request, then those at or after the pointer, each from the
        # highest down.
        for index in reversed(range(inputs)):
            with m.If(self.requests[index]):
                m.d.comb += self.pick.eq(index)
        for index in reversed(range(inputs)):
            behind = pointer <= index if index < inputs - 1 else 1
            with m.If(self.requests[index] & behind):
                m.d.comb += self.pick.eq(index)
        with m.If(self.valid & self.take):
            m.d.sync += pointer.eq(Mux(self.pick == inputs - 1, 0, self.pick + 1))
        return m


class Merge(wiring.Component):
    """Any number of streams into one, by :class:`RoundRobinPick`.

    ``o`` follows the inputs in the same cycle, one payload per cycle. ``ready`` of an input
    depends combinationally on every ``valid`` and on ``o.ready``.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.
    inputs : int
        Number of streams, at least 1.

    Raises
    ------
    TypeError
        If ``inputs`` is not an integer.
    ValueError
        If ``inputs`` is less than 1.
    """

    def __init__(self, shape, inputs: int):
        _check_inputs(inputs)
        super().__init__(
            {
                "i": In(stream.Signature(shape)).array(inputs),
                "o": Out(stream.Signature(shape)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if len(self.i) == 1:
            wiring.connect(m, wiring.flipped(self.i[0]), wiring.flipped(self.o))
            return m
        m.submodules.pick = pick = RoundRobinPick(len(self.i))
        m.d.comb += [
            self.o.valid.eq(pick.valid),
            pick.take.eq(self.o.ready),
        ]
        for index, source in enumerate(self.i):
            m.d.comb += pick.requests[index].eq(source.valid)
            with m.If(pick.valid & (pick.pick == index)):
                m.d.comb += source.ready.eq(self.o.ready)
        with m.Switch(pick.pick):
            for index, source in enumerate(self.i):
                with m.Case(index) if index < len(self.i) - 1 else m.Default():
                    m.d.comb += self.o.p.eq(source.p)
        return m
