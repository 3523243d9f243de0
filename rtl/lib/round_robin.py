"""Fair choice between streams."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
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


def _blocked(m: Module, requests: Value, first: Value) -> Value:
    """For each input whether a request stands before it, counting from ``first`` up and around.

    Spans before every input, twice as long in each step, so the depth is logarithmic: whether one
    has a request, and whether it ends before ``first``.
    """
    inputs = len(requests)
    spans = ~first
    blocked = spans & requests.rotate_left(1)
    length = 1
    while length < inputs - 1:
        # Signals: an expression would hold each step's operands several times over.
        open_spans, reached = Signal(inputs), Signal(inputs)
        m.d.comb += [open_spans.eq(spans), reached.eq(blocked)]
        blocked = reached | (open_spans & reached.rotate_left(length))
        spans = open_spans & open_spans.rotate_left(length)
        length *= 2
    return blocked


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
        first = Signal(len(self.requests), init=1)
        m.d.comb += self.grant.eq(self.requests & ~_blocked(m, self.requests, first))
        with m.If(self.take & self.requests.any()):
            m.d.sync += first.eq(self.grant.rotate_left(1))
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
