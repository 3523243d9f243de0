"""Floating-point formats, and the common internal representation of the reduce lanes."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data

from rtl.interface.encodings import Datatype

__all__ = ["FORMATS", "Float", "FloatFormat", "pack", "unpack"]


@dataclass(frozen=True)
class FloatFormat:
    """Binary interchange format: sign, exponent, fraction, most significant first."""

    exponent_bits: int
    fraction_bits: int

    @property
    def width(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def special(self) -> int:
        """Exponent of infinities and NaNs."""
        return (1 << self.exponent_bits) - 1


FORMATS = {
    Datatype.FP16: FloatFormat(exponent_bits=5, fraction_bits=10),
    Datatype.BF16: FloatFormat(exponent_bits=8, fraction_bits=7),
    Datatype.FP32: FloatFormat(exponent_bits=8, fraction_bits=23),
}


class Float(data.StructLayout):
    """Common representation of numbers of several formats.

    ``fraction`` is left-aligned in the widest fraction, ``exponent`` has the bias of its format.
    This suffices for sums and comparisons within one format, in which neither the bias nor the
    zeros below a short fraction matter.

    Raises
    ------
    ValueError
        If there are no datatypes.
    """

    def __init__(self, datatypes: Sequence[Datatype]):
        if not datatypes:
            raise ValueError(f"Datatypes must have at least one entry, not {datatypes!r}")
        formats = [FORMATS[datatype] for datatype in datatypes]
        super().__init__(
            {
                "fraction": max(each.fraction_bits for each in formats),
                "exponent": max(each.exponent_bits for each in formats),
                "sign": 1,
                "special": 1,  # an infinity or a NaN
            }
        )


def unpack(m: Module, datatypes: Sequence[Datatype], dtype: Value, bits: Value) -> data.View:
    """Unpack the number in the low bits of ``bits``. An unlisted ``dtype`` acts as the last one."""
    number = Signal(Float(datatypes))
    with m.Switch(dtype):
        for datatype in datatypes:
            form = FORMATS[datatype]
            fraction = bits[: form.fraction_bits]
            exponent = bits[form.fraction_bits : form.width - 1]
            with m.Default() if datatype is datatypes[-1] else m.Case(datatype):
                m.d.comb += [
                    number.fraction[len(number.fraction) - form.fraction_bits :].eq(fraction),
                    number.exponent.eq(exponent),
                    number.sign.eq(bits[form.width - 1]),
                    number.special.eq(exponent.all()),
                ]
    return number


def pack(m: Module, datatypes: Sequence[Datatype], dtype: Value, number: data.View) -> Signal:
    """Pack a number, the inverse of :func:`unpack`; bits above a short format are zero."""
    bits = Signal(max(FORMATS[datatype].width for datatype in datatypes))
    with m.Switch(dtype):
        for datatype in datatypes:
            form = FORMATS[datatype]
            with m.Default() if datatype is datatypes[-1] else m.Case(datatype):
                m.d.comb += bits.eq(
                    Cat(
                        number.fraction[len(number.fraction) - form.fraction_bits :],
                        number.exponent[: form.exponent_bits],
                        number.sign,
                        Const(0, len(bits) - form.width),
                    )
                )
    return bits
