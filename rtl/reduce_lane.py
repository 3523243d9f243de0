"""One lane of the near-memory reduce unit."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .float_add import FloatAdd
from .float_format import FORMATS, pack, unpack
from .layouts import Datatype, Operation

__all__ = ["ReduceLane"]


class ReduceLane(wiring.Component):
    """``op(stored, operand)`` of one number, or ``operand`` itself.

    SUM rounds to nearest even. MAX and MIN are IEEE 754-2019 ``maximum`` and ``minimum``: a NaN if
    either is one, and -0 less than +0. Every NaN that an operation makes or passes on is the
    format's canonical one. Subnormals are kept.

    A result leaves ``LATENCY`` cycles after its operands came, one per cycle,
    and not from a register: the last stage ends at the output.

    Parameters
    ----------
    datatypes : sequence of :class:`Datatype`
        Formats that the lane knows. Another ``dtype`` is taken as the last one of them.

    Members
    -------
    stored, operand : In
        Numbers, in the low bits if the format is not the widest.
    replace : In(1)
        Pass ``operand`` unchanged.
    op : In(Operation)
    dtype : In(Datatype)
    value : Out
        The result, in the same place.

    Raises
    ------
    ValueError
        If there are no datatypes.
    """

    LATENCY = FloatAdd.LATENCY

    def __init__(self, datatypes: Sequence[Datatype]):
        if not datatypes:
            raise ValueError(f"Datatypes must not be empty, not {datatypes!r}")
        self._datatypes = tuple(datatypes)
        width = max(FORMATS[datatype].width for datatype in self._datatypes)
        super().__init__(
            {
                "stored": In(width),
                "operand": In(width),
                "replace": In(1),
                "op": In(Operation),
                "dtype": In(Datatype),
                "value": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.add = add = FloatAdd(self._datatypes)
        a = unpack(m, self._datatypes, self.dtype, self.stored)
        b = unpack(m, self._datatypes, self.dtype, self.operand)

        smaller = Signal()  # |a| < |b|
        m.d.comb += [
            smaller.eq(Cat(a.fraction, a.exponent) < Cat(b.fraction, b.exponent)),
            add.a.eq(a),
            add.b.eq(b),
            add.swap.eq(smaller),
            add.dtype.eq(self.dtype),
        ]

        # What needs no adder goes beside it: a replacement, a maximum or minimum, an infinity, NaN.
        nan_bits = Signal(len(self.value))
        with m.Switch(self.dtype):
            for datatype in self._datatypes:
                with m.Default() if datatype is self._datatypes[-1] else m.Case(datatype):
                    m.d.comb += nan_bits.eq(FORMATS[datatype].nan)
        signs_differ = a.sign ^ b.sign
        less = Mux(signs_differ, a.sign, a.sign ^ smaller)  # of equal numbers either will do
        take_operand = Signal()
        nan = Signal()
        direct = Signal()
        selected = Signal.like(self.value)
        m.d.comb += nan.eq(
            (a.special & a.fraction.any())
            | (b.special & b.fraction.any())
            | ((self.op == Operation.SUM) & a.special & b.special & signs_differ)
        )
        with m.Switch(self.op):
            with m.Case(Operation.SUM):
                m.d.comb += [take_operand.eq(b.special), direct.eq(a.special | b.special)]
            with m.Case(Operation.MAX):
                m.d.comb += [take_operand.eq(less), direct.eq(1)]
            with m.Default():
                m.d.comb += [take_operand.eq(~less), direct.eq(1)]
        with m.If(self.replace):
            m.d.comb += selected.eq(self.operand)
        with m.Elif(nan):
            m.d.comb += selected.eq(nan_bits)
        with m.Else():
            m.d.comb += selected.eq(Mux(take_operand, self.operand, self.stored))

        direct_now = self.replace | direct
        for _ in range(FloatAdd.LATENCY):
            direct_next = Signal(reset_less=True)
            selected_next = Signal(len(self.value), reset_less=True)
            m.d.sync += [direct_next.eq(direct_now), selected_next.eq(selected)]
            direct_now, selected = direct_next, selected_next

        total = pack(m, self._datatypes, add.o_dtype, add.o)
        m.d.comb += self.value.eq(Mux(direct_now, selected, total))
        return m
