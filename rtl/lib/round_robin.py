"""Round-robin arbitration between streams."""

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
    """Two-input round-robin merge: the stream that did not send last has priority.

    ``o`` follows the inputs in the same cycle, one payload per cycle. ``ready`` of an input
    depends combinationally on both ``valid`` and on ``o.ready``; ``o.valid`` depends on the
    inputs only. After reset ``a`` has priority.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.

    Members
    -------
    a, b : In(stream)
        Inputs.
    o : Out(stream)
        Output.
    last : Out(1)
        ``b`` sent last. Register.
    """

    def __init__(self, shape):
        super().__init__(
            {
                "a": In(stream.Signature(shape)),
                "b": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "last": Out(1, init=1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pick_b = Signal()
        m.d.comb += [
            pick_b.eq(self.b.valid & ~(self.a.valid & self.last)),
            self.o.valid.eq(self.a.valid | self.b.valid),
            self.o.p.eq(Mux(pick_b, self.b.p, self.a.p)),
            self.a.ready.eq(self.o.ready & ~pick_b),
            self.b.ready.eq(self.o.ready & pick_b),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += self.last.eq(pick_b)
        return m


def _blocked(m: Module, requests: Value, first: Value) -> Value:
    """Compute, for each input, whether a request has priority over it, counting up from ``first``.

    The logic looks at spans before every input, twice as long in each step, so its depth is
    logarithmic: whether a span has a request, and whether it ends before ``first``.
    """
    inputs = len(requests)
    spans = ~first
    blocked = spans & requests.rotate_left(1)
    length = 1
    while length < inputs - 1:
        # Signals keep each step's operands from being duplicated in the expression.
        open_spans, reached = Signal(inputs), Signal(inputs)
        m.d.comb += [open_spans.eq(spans), reached.eq(blocked)]
        blocked = reached | (open_spans & reached.rotate_left(length))
        spans = open_spans & open_spans.rotate_left(length)
        length *= 2
    return blocked


class RoundRobinPick(wiring.Component):
    """Round-robin arbiter: grants the first request at or after a pointer, with wrap-around.

    Combinational. The pointer, 0 after reset, moves behind the granted request in a cycle with
    ``take``.

    Parameters
    ----------
    inputs : int
        Number of requests, at least 1.

    Members
    -------
    requests : In(inputs)
    take : In(1)
        The grant is used.
    grant : Out(inputs)
        One-hot grant; 0 without a request.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    first : Signal
        One-hot pointer to the request with the highest priority. Constant with one request.
    one_hot : tuple of str
        Members that are one-hot or zero, as the exported Verilog asserts.

    Raises
    ------
    ValueError
        If ``inputs`` is less than 1.
    """

    one_hot = ("grant",)

    def __init__(self, inputs: int):
        _check_inputs(inputs)
        super().__init__({"requests": In(inputs), "take": In(1), "grant": Out(inputs)})
        self.first = Signal(inputs, init=1)

    def elaborate(self, platform):
        m = Module()
        if len(self.requests) == 1:
            m.d.comb += self.grant.eq(self.requests)
            return m
        m.d.comb += self.grant.eq(self.requests & ~_blocked(m, self.requests, self.first))
        with m.If(self.take & self.requests.any()):
            m.d.sync += self.first.eq(self.grant.rotate_left(1))
        return m


class Merge(wiring.Component):
    """Round-robin merge of any number of streams, by :class:`RoundRobinPick`.

    ``o`` follows the inputs in the same cycle, one payload per cycle. ``ready`` of an input
    depends combinationally on every ``valid`` and on ``o.ready``.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.
    inputs : int
        Number of streams, at least 1.

    Members
    -------
    i : In(stream).array(inputs)
    o : Out(stream)

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    pick : RoundRobinPick or None
        Arbiter; None with one stream.

    Raises
    ------
    ValueError
        If ``inputs`` is less than 1.
    """

    def __init__(self, shape, inputs: int):
        _check_inputs(inputs)
        super().__init__(
            {
                "i": In(stream.Signature(shape)).array(inputs),
                "o": Out(stream.Signature(shape)),
                "clock_enable": Out(1),
            }
        )
        self.pick = RoundRobinPick(inputs) if inputs > 1 else None

    def elaborate(self, platform):
        m = Module()
        pick = self.pick
        if pick is None:
            wiring.connect(m, wiring.flipped(self.i[0]), wiring.flipped(self.o))
            return m
        m.submodules.pick = pick
        m.d.comb += [
            pick.requests.eq(Cat(source.valid for source in self.i)),
            pick.take.eq(self.o.ready),
            self.o.valid.eq(pick.requests.any()),
            self.o.p.eq(one_hot_select(pick.grant, (source.p for source in self.i))),
            self.clock_enable.eq(self.o.valid & self.o.ready),
        ]
        for source, grant in zip(self.i, pick.grant, strict=True):
            m.d.comb += source.ready.eq(self.o.ready & grant)
        return m
