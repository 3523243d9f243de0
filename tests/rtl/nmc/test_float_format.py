import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from rtl.interface.encodings import Datatype
from rtl.nmc.float_format import FORMATS, Float, pack, unpack


@pytest.mark.parametrize(
    "datatype, width, special",
    [
        (Datatype.FP16, 16, 31),
        (Datatype.BF16, 16, 255),
        (Datatype.FP32, 32, 255),
    ],
)
def test_format(datatype, width, special):
    form = FORMATS[datatype]
    assert (form.width, form.special) == (width, special)


@pytest.mark.parametrize(
    "datatypes, exponent_bits, fraction_bits",
    [([Datatype.FP16], 5, 10), ([Datatype.FP16, Datatype.BF16], 8, 10), (list(Datatype), 8, 23)],
)
def test_float_is_as_wide_as_the_widest(datatypes, exponent_bits, fraction_bits):
    number = Float(datatypes)
    assert number["exponent"].width == exponent_bits
    assert number["fraction"].width == fraction_bits


@pytest.mark.parametrize(
    "datatype, bits, fraction, exponent, sign, special",
    [
        (Datatype.FP16, 0x8000, 0, 0, 1, 0),
        (Datatype.FP16, 0x3C01, 1 << 13, 15, 0, 0),
        (Datatype.FP16, 0xABCD_7BFF, 0x3FF << 13, 30, 0, 0),  # upper bits are ignored
        (Datatype.FP16, 0xFC00, 0, 31, 1, 1),
        (Datatype.BF16, 0x3F81, 1 << 16, 127, 0, 0),
        (Datatype.BF16, 0x0F80, 0, 31, 0, 0),  # special in fp16 only
        (Datatype.BF16, 0xFFFF, 0x7F << 16, 255, 1, 1),
        (Datatype.FP32, 0x8000_0001, 1, 0, 1, 0),
        (Datatype.FP32, 0x7F80_0000, 0, 255, 0, 1),
    ],
)
def test_unpack_and_pack(datatype, bits, fraction, exponent, sign, special):
    m = Module()
    given = Signal(32)
    dtype = Signal(Datatype)
    number = unpack(m, list(Datatype), dtype, given)
    back = pack(m, list(Datatype), dtype, number)

    async def bench(ctx):
        ctx.set(given, bits)
        ctx.set(dtype, datatype)
        assert ctx.get(number.fraction) == fraction
        assert ctx.get(number.exponent) == exponent
        assert ctx.get(number.sign) == sign
        assert ctx.get(number.special) == special
        assert ctx.get(back) == bits & (1 << FORMATS[datatype].width) - 1

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
