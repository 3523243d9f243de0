"""Lane of the near-memory reduce unit."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import Datatype, Operation

from .float_add import FloatAdd
from .float_format import FORMATS, pack, unpack

__all__ = ["ReduceLane"]


class ReduceLane(wiring.Component):
    """Reduce lane: computes ``op(stored, operand)`` of one number, or passes ``operand``.

    SUM rounds to nearest even. MAX and MIN are IEEE 754-2019 ``maximum`` and ``minimum``: the
    result is a NaN if either operand is a NaN, and -0 is less than +0. Every NaN result is the
    format's canonical NaN. Subnormals are supported.

    A result leaves ``LATENCY`` cycles after its operands arrived, one per cycle. The output is not
    registered: the last stage ends at the output.

    Parameters
    ----------
    datatypes : sequence of :class:`Datatype`
        Formats that the lane supports. An unsupported ``dtype`` acts as the last one of them.

    Members
    -------
    valid : In(1)
        The operands are valid; see :class:`FloatAdd`.
    stored, operand : In
        Operands, in the low bits if the format is not the widest.
    replace : In(1)
        Pass ``operand`` unchanged.
    op : In(Operation)
    dtype : In(Datatype)
    value : Out
        Result, in the low bits; bits above a short format are 0.

    Raises
    ------
    ValueError
        If there are no datatypes.
    """

    LATENCY = FloatAdd.LATENCY

    def __init__(self, datatypes: Sequence[Datatype]):
        if not datatypes:
            raise ValueError(f"Datatypes must have at least one entry, not {datatypes!r}")
        self._datatypes = tuple(datatypes)
        width = max(FORMATS[datatype].width for datatype in self._datatypes)
        super().__init__(
            {
                "valid": In(1, init=1),
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
        # All operations go through the adder, which saves registers for a parallel path.
        m.submodules.add = add = FloatAdd(self._datatypes)
        a = unpack(m, self._datatypes, self.dtype, self.stored)
        b = unpack(m, self._datatypes, self.dtype, self.operand)

        smaller = Signal()  # |a| < |b|
        signs_differ = Signal()
        less = Signal()  # a < b; arbitrary for equal numbers
        nan = Signal()
        m.d.comb += [
            smaller.eq(Cat(a.fraction, a.exponent) < Cat(b.fraction, b.exponent)),
            signs_differ.eq(a.sign ^ b.sign),
            less.eq(Mux(signs_differ, a.sign, a.sign ^ smaller)),
            nan.eq(
                (a.special & a.fraction.any())
                | (b.special & b.fraction.any())
                | ((self.op == Operation.SUM) & a.special & b.special & signs_differ)
            ),
            add.valid.eq(self.valid),
            add.a.eq(a),
            add.b.eq(b),
            add.dtype.eq(self.dtype),
            add.nan.eq(nan & ~self.replace),
            add.alone.eq(self.replace | (self.op != Operation.SUM) | a.special | b.special),
        ]
        with m.If(self.replace):
            m.d.comb += add.swap.eq(1)
        with m.Elif(nan | (self.op == Operation.SUM)):
            m.d.comb += add.swap.eq(smaller)
        with m.Else():
            m.d.comb += add.swap.eq(less ^ (self.op != Operation.MAX))
        m.d.comb += self.value.eq(pack(m, self._datatypes, add.o_dtype, add.o))
        return m
