"""Fair choice between streams."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .select import one_hot_select

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


def _any_below(bits: Value) -> Value:
    """For each bit whether a lower one is set, in logarithmic depth."""
    reach = list(bits)
    step = 1
    while step < len(reach):
        reach = [
            bit | reach[index - step] if index >= step else bit for index, bit in enumerate(reach)
        ]
        step *= 2
    return Cat(Const(0, 1), *reach[:-1])


class RoundRobinPick(wiring.Component):
    """The first of ``inputs`` requests at or after a pointer, counting up and around.

    Combinational; the pointer, 0 after reset, moves behind the granted one in a cycle with
    ``take``.

    Parameters
    ----------
    inputs : int
        Number of requests, at least 1.

    Members
    -------
    requests : In(inputs)
    take : In(1)
        The grant is made use of.
    grant : Out(inputs)
        The chosen request alone; 0 if there is none.

    Raises
    ------
    TypeError
        If ``inputs`` is not an integer.
    ValueError
        If ``inputs`` is less than 1.
    """

    def __init__(self, inputs: int):
        _check_inputs(inputs)
        super().__init__({"requests": In(inputs), "take": In(1), "grant": Out(inputs)})

    def elaborate(self, platform):
        m = Module()
        inputs = len(self.requests)
        # The pointer as a mask of the requests at or after it. None there: the lowest of all.
        mask = Signal(inputs)
        ahead = Signal(inputs)
        m.d.comb += ahead.eq(self.requests & mask)
        below_ahead = _any_below(ahead)
        below_any = _any_below(self.requests)
        wraps = ~ahead.any()
        m.d.comb += self.grant.eq(Mux(wraps, self.requests & ~below_any, ahead & ~below_ahead))
        with m.If(self.take & self.requests.any()):
            m.d.sync += mask.eq(Mux(wraps, below_any, below_ahead))
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
            pick.requests.eq(Cat(source.valid for source in self.i)),
            pick.take.eq(self.o.ready),
            self.o.valid.eq(pick.requests.any()),
            self.o.p.eq(one_hot_select(pick.grant, (source.p for source in self.i))),
        ]
        for source, grant in zip(self.i, pick.grant, strict=True):
            m.d.comb += source.ready.eq(self.o.ready & grant)
        return m
