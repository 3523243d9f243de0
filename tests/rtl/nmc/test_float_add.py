import numpy as np
import pytest
from amaranth.sim import Simulator

from rtl.interface.encodings import Datatype, Operation
from rtl.nmc.float_add import FloatAdd
from rtl.nmc.float_format import FORMATS
from tb.nmc_unit.operands import structured
from tb.nmc_unit.reference import BITS, reduce_bits

NARROW = (Datatype.FP16, Datatype.BF16)
WIDE = (Datatype.FP16, Datatype.BF16, Datatype.FP32)


def split(bits: int, datatype: Datatype, fraction_bits: int) -> dict:
    form = FORMATS[datatype]
    return {
        "fraction": (bits & (1 << form.fraction_bits) - 1) << fraction_bits - form.fraction_bits,
        "exponent": bits >> form.fraction_bits & form.special,
        "sign": bits >> form.width - 1,
    }


def add(datatypes, cases: list[tuple[int, int, Datatype]]) -> list[int]:
    """Bits of each sum; the numbers go in one pair per cycle."""
    adder = FloatAdd(datatypes)
    fraction_bits = len(adder.o.fraction)
    results = []

    async def bench(ctx):
        for a, b, datatype in [*cases, *cases[:1] * FloatAdd.LATENCY]:
            magnitude = (1 << FORMATS[datatype].width - 1) - 1
            ctx.set(adder.a, split(a, datatype, fraction_bits))
            ctx.set(adder.b, split(b, datatype, fraction_bits))
            ctx.set(adder.swap, a & magnitude < b & magnitude)
            ctx.set(adder.dtype, datatype)
            form = FORMATS[ctx.get(adder.o_dtype)]
            fraction = ctx.get(adder.o.fraction) >> fraction_bits - form.fraction_bits
            bits = ctx.get(adder.o.exponent) << form.fraction_bits | fraction
            results.append(ctx.get(adder.o.sign) << form.width - 1 | bits)
            await ctx.tick()

    simulator = Simulator(adder)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return results[FloatAdd.LATENCY :]


FP16_CASES = [
    # 1 + half a unit in the last place: a tie, to the even number; a bit more rounds up.
    (0x3C00, 0x1000, 0x3C00),
    (0x3C01, 0x1000, 0x3C02),
    (0x3C00, 0x1001, 0x3C01),
    (0x3C00, 0x0001, 0x3C00),  # far below: only the sticky bit sees it
    (0x3C00, 0x8001, 0x3C00),  # from 1 downwards too
    (0x3C00, 0x8C01, 0x3BFF),  # 1 - (just over half a unit of the numbers below 1)
    (0x3C00, 0x8C00, 0x3C00),  # 1 - exactly that: a tie
    (0x3FFF, 0x1000, 0x4000),  # rounding carries into the exponent
    (0x3FFF, 0x3FFF, 0x43FF),  # the sum carries, exactly
    (0x3C01, 0x3FFF, 0x4200),  # the sum carries, a tie is lost below
    (0x03FF, 0x0001, 0x0400),  # subnormal becomes normal
    (0x0400, 0x8001, 0x03FF),  # normal becomes subnormal
    (0x0001, 0x0001, 0x0002),
    (0x0401, 0x8400, 0x0001),  # cancellation down to the smallest number
    (0x4C01, 0xCC00, 0x2400),  # cancellation of all but the last bit
    (0x7BFF, 0x7BFF, 0x7C00),  # too large before rounding
    (0x7BFF, 0x4C00, 0x7C00),  # half a unit above the largest: infinity
    (0x7BFF, 0x4BFF, 0x7BFF),  # just less: stays
    (0xFBFF, 0xCC00, 0xFC00),
    (0x0000, 0x8000, 0x0000),
    (0x8000, 0x8000, 0x8000),
    (0x5555, 0xD555, 0x0000),  # x - x
    (0x8000, 0x8001, 0x8001),
    (0x0000, 0xABCD, 0xABCD),
]


@pytest.mark.parametrize("datatypes", [(Datatype.FP16,), NARROW, WIDE])
def test_directed_fp16(datatypes):
    sums = add(datatypes, [(a, b, Datatype.FP16) for a, b, _ in FP16_CASES])
    for (a, b, expected), got in zip(FP16_CASES, sums, strict=True):
        assert got == expected, f"{a:#06x} + {b:#06x}: {got:#06x}, not {expected:#06x}"


@pytest.mark.parametrize("datatypes, size", [(NARROW, 600), (WIDE, 400)])
def test_structured_random(datatypes, size):
    seed = 7002
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    cases = []
    for datatype in datatypes:
        a, b = structured(rng, datatype, size)
        special = FORMATS[datatype].special << FORMATS[datatype].fraction_bits
        finite = (a & special != special) & (b & special != special)
        sums = reduce_bits(a, b, Operation.SUM, datatype)
        for case in zip(a[finite], b[finite], sums[finite], strict=True):
            cases.append((*map(int, case), datatype))
    # One format follows another in the pipeline.
    cases = [cases[index] for index in rng.permutation(len(cases))]
    sums = add(datatypes, [(a, b, datatype) for a, b, _, datatype in cases])
    for (a, b, expected, datatype), got in zip(cases, sums, strict=True):
        assert got == expected, f"{datatype.name} {a:#x} + {b:#x}: {got:#x}, not {expected:#x}"


def near_ties(datatype):
    """Pairs whose sum is a tie, and pairs that a single bit, as far below as it can be, takes off
    one: the numbers as ``(significand, exponent, sign)``, and whether it is a tie."""
    fraction = FORMATS[datatype].fraction_bits
    one, middle = 1 << fraction, FORMATS[datatype].special // 2

    def numbers(larger, smaller, distance, sign):
        assert one <= smaller < 2 * one
        return (larger, middle, 0), (smaller, middle - distance, sign)

    for distance in range(1, fraction + 1):
        # In units of the larger one's last place. Tied sums are odd multiples of half a unit of
        # the result, with an even number below.
        whole = one >> distance
        for low in (0, *(1 << bit for bit in range(distance))):
            tie = low == 0
            # The sum carries: half a unit of the result is a whole one. 4n + 1 rounds to 4n.
            yield numbers(2 * one + 1 - whole, (whole << distance) + low, distance, 0), tie
            # The sum does not carry: with a half.
            half = 1 << distance - 1
            if low < half:
                larger = one + (whole & 1)
                smaller = (whole << distance) + half + low
                yield numbers(larger, smaller, distance, 0), tie
            # The sum loses its highest bit: with a quarter less. 4n + 1 quarters round to 4n, and
            # 4n + 3, less the smaller part, to 4n + 2.
            quarter = half >> 1
            if distance > 2 and low < quarter:
                smaller = (whole << distance) + quarter + low
                yield numbers(one, smaller, distance, 1), tie


def test_a_single_bit_takes_a_sum_off_a_tie():
    """A single bit decides wherever it is among the bits that are shifted out, and whatever place
    the sum's highest bit has."""
    cases, off = [], 0
    for datatype in WIDE:
        form = FORMATS[datatype]
        for pair, tie in near_ties(datatype):
            a, b = (
                sign << form.width - 1
                | exponent << form.fraction_bits
                | significand & (1 << form.fraction_bits) - 1
                for significand, exponent, sign in pair
            )
            (expected,) = reduce_bits(
                *(np.array([bits], BITS[datatype]) for bits in (a, b)), Operation.SUM, datatype
            ).tolist()
            cases.append((a, b, expected, datatype))
            off += not tie
    assert off > 500
    sums = add(WIDE, [(a, b, datatype) for a, b, _, datatype in cases])
    for (a, b, expected, datatype), got in zip(cases, sums, strict=True):
        assert got == expected, f"{datatype.name} {a:#x} + {b:#x}: {got:#x}, not {expected:#x}"


@pytest.mark.parametrize("swap", [0, 1])
def test_a_number_alone_and_nan(swap):
    adder = FloatAdd(WIDE)
    passed = [0x8000_0000, 0x8000_0001, 0x7F7F_FFFF, 0xFF80_0000, 0x7F80_0001]
    fields = [split(bits, Datatype.FP32, 23) for bits in passed]
    other = split(0x3FFF_FFFF, Datatype.FP32, 23)
    cases = [(number, 0) for number in fields] + [(fields[3], 1)]
    expected = [*fields, split(0x7FC0_0000, Datatype.FP32, 23)]
    results = []

    async def bench(ctx):
        ctx.set(adder.dtype, Datatype.FP32)
        ctx.set(adder.swap, swap)
        ctx.set(adder.alone, 1)
        for number, nan in [*cases, *cases[:1] * FloatAdd.LATENCY]:
            ctx.set(adder.b if swap else adder.a, number)
            ctx.set(adder.a if swap else adder.b, other)
            ctx.set(adder.nan, nan)
            results.append({name: ctx.get(adder.o[name]) for name in other})
            await ctx.tick()

    simulator = Simulator(adder)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert results[FloatAdd.LATENCY :] == expected


def test_no_datatypes():
    with pytest.raises(ValueError, match=r"^Datatypes must have at least one entry, not \[\]$"):
        FloatAdd([])
