"""A test of the comparison: the unit with a seeded bug must not pass."""

import pytest

import rtl.nmc.lane
import rtl.nmc.unit
from rtl.interface.encodings import Datatype, Operation
from rtl.nmc.float_add import FloatAdd
from rtl.nmc.lane import ReduceLane
from verification.arithmetic.compare import compare_batches, compare_rows
from verification.arithmetic.unit import NativeUnit, build_unit
from verification.seeded_bugs.bug import SeededBug

SHORT = [Datatype.FP16, Datatype.BF16]
ORDER = {Operation.MAX, Operation.MIN}
# Each fault: a block, a text of its source, the replacement, and the operations made wrong.
FAULTS = {
    "halves rounded up": (
        FloatAdd,
        "(odd | significand[:guard].any())",
        "1",
        {Operation.SUM},
    ),
    "sticky bits lost": (
        FloatAdd,
        "value[: keep + 1].any()",
        "value[keep]",
        {Operation.SUM},
    ),
    "minus zero from cancellation": (
        FloatAdd,
        "normal.sign.eq(summed.sign & ~(summed.subtract & ~total.any()))",
        "normal.sign.eq(summed.sign)",
        {Operation.SUM},
    ),
    "NaN with a sign": (
        FloatAdd,
        "Mux(self.swap, self.b.sign, self.a.sign) & ~self.nan",
        "Mux(self.swap, self.b.sign, self.a.sign)",
        set(Operation),
    ),
    "subnormal numbers taken as zero": (
        FloatAdd,
        "Cat(number.fraction, normal)",
        "Cat(Mux(normal, number.fraction, 0), normal)",
        set(Operation),
    ),
    "maximum for minimum": (ReduceLane, "op != Operation.MAX", "op == Operation.MAX", ORDER),
    "zeros in any order": (
        ReduceLane,
        "Mux(signs_differ, a.sign,",
        "Mux(signs_differ, a.sign & (smaller | a.exponent.any() | a.fraction.any()),",
        ORDER,
    ),
}


def seed_bug(monkeypatch, fault, formats=(2, 3)):
    """Put a fault into the lanes with two formats (upper lanes) or three formats (lower lanes)."""
    block, right, wrong, _ = FAULTS[fault]
    bug = SeededBug(
        module=block.__module__, block=block.__name__, fault=fault, right=right, wrong=wrong
    )
    seeded = bug.seeded()
    user = rtl.nmc.lane if block is FloatAdd else rtl.nmc.unit

    def component(datatypes):
        return (seeded if len(datatypes) in formats else block)(datatypes)

    component.LATENCY = block.LATENCY
    monkeypatch.setattr(user, block.__name__, component)


def special_rows(dtype):
    """Both zeros, subnormal numbers, one, the largest number, infinity, NaNs."""
    canonical = {Datatype.FP16: 0x7E00, Datatype.BF16: 0x7FC0}[dtype]
    one = {Datatype.FP16: 0x3C00, Datatype.BF16: 0x3F80}[dtype]
    return [0x0000, 0x8000, 0x0001, 0x8003, one, one | 0x8001, canonical, canonical | 0x8000]


def wrong_results(unit):
    """Formats and operations that have mismatches."""
    wrong = set()
    for op in Operation:
        compared = [compare_rows(unit, op, dtype, special_rows(dtype)) for dtype in SHORT]
        compared.append(compare_batches(unit, op, 531, [0]))
        for dtype, comparison in zip(Datatype, compared, strict=True):
            assert bool(comparison.mismatches) == bool(comparison.first)
            assert all(expected != found for _, _, expected, found in comparison.first)
            if comparison.mismatches:
                wrong.add((dtype, op))
    return wrong


def test_wrong_rounding_is_found_and_shown(monkeypatch):
    seed_bug(monkeypatch, "halves rounded up")
    with NativeUnit(build_unit()) as unit:
        assert wrong_results(unit) == {(dtype, Operation.SUM) for dtype in Datatype}
        # Half a unit in the last place is lost beside 1024, and makes the odd 1025 1026.
        even, odd = (
            compare_rows(unit, Operation.SUM, Datatype.FP16, [row, row]) for row in (0x6400, 0x6401)
        )
    assert (0x6400, 0x3800, 0x6400, 0x6401) in even.first
    assert 0x3800 not in [operand for _, operand, _, _ in odd.first]


@pytest.mark.verify
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_found_where_it_shows(monkeypatch, fault):
    seed_bug(monkeypatch, fault)
    with NativeUnit(build_unit()) as unit:
        operations = FAULTS[fault][-1]
        assert wrong_results(unit) == {(dtype, op) for dtype in Datatype for op in operations}


@pytest.mark.verify
@pytest.mark.parametrize(("formats", "dtypes"), [(2, SHORT), (3, Datatype)])
def test_a_fault_in_one_kind_of_lane_is_found(monkeypatch, formats, dtypes):
    seed_bug(monkeypatch, "halves rounded up", (formats,))
    with NativeUnit(build_unit()) as unit:
        assert wrong_results(unit) == {(dtype, Operation.SUM) for dtype in dtypes}
