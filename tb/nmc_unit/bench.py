"""Bench of the reduce unit: one atom per cycle, all pairs of special values and random values,
against NumPy.
"""

from collections.abc import Iterator
from typing import NamedTuple

import cocotb
import numpy as np

from rtl.interface.encodings import Datatype, Operation
from rtl.interface.layouts import NmcRequest, NmcResult
from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled
from tb.nmc_unit.operands import from_word, special_values, structured, to_word
from tb.nmc_unit.reference import BITS, reduce_bits
from tb.stream import StreamChecker, offer

PARAMETERS = T3Parameters(contexts=1, with_data=True)
_REQUEST = NmcRequest(PARAMETERS)
_RESULT = NmcResult(PARAMETERS)
_LANES = {dtype: PARAMETERS.atom_bytes // BITS[dtype](0).nbytes for dtype in Datatype}
_RANDOM_ATOMS = 12_000

expect(
    "first touch",
    "later touch",
    "back to back",
    "idle cycle",
    "atom of another epoch accumulates",
    "epoch changed while outstanding",
    *(f"{op.name} {dtype.name}" for op in Operation for dtype in Datatype),
)


def make_dut(block: type = NmcUnit):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


class Case(NamedTuple):
    """Operands as integers, operation, and the expected result unless this is a first touch."""

    stored: int
    operand: int
    op: Operation
    dtype: Datatype
    reduced: int


def _cases(a: np.ndarray, b: np.ndarray, op: Operation, dtype: Datatype) -> Iterator[Case]:
    atoms = (each.reshape(-1, _LANES[dtype]) for each in (a, b, reduce_bits(a, b, op, dtype)))
    for stored, operand, reduced in zip(*atoms, strict=True):
        yield Case(to_word(stored), to_word(operand), op, dtype, to_word(reduced))


def _all_pairs() -> Iterator[Case]:
    """Each pair of special values is reduced in the lower and in the upper lane of a word; the
    second time in reverse order.
    """
    for dtype in Datatype:
        values = np.array(special_values(dtype), BITS[dtype])
        a, b = (grid.ravel() for grid in np.meshgrid(values, values))
        spare = -len(a) % _LANES[dtype]
        a, b = (np.append(each, each[:spare]) for each in (a, b))
        for op in Operation:
            yield from _cases(a, b, op, dtype)
            yield from _cases(a[::-1], b[::-1], op, dtype)


def _random(rng: np.random.Generator) -> list[Case]:
    """Random cases of all kinds agree with NumPy; half of the operations are sums."""
    cases = []
    share = scaled(_RANDOM_ATOMS) // 12
    for dtype in Datatype:
        for op in (Operation.SUM, *Operation):
            cases += _cases(*structured(rng, dtype, share * _LANES[dtype]), op, dtype)
    rng.shuffle(cases)
    return cases


def _bits(layout, **fields: int) -> int:
    return sum(value << layout[name].offset for name, value in fields.items())


def _field(layout, bits: int, name: str) -> int:
    return bits >> layout[name].offset & (1 << layout[name].width) - 1


def _explain(case: Case, value: int) -> str:
    words = (case.stored, case.operand, case.reduced, value)
    a, b, expected, got = (from_word(word, case.dtype, PARAMETERS.atom_bytes) for word in words)
    lane = np.flatnonzero(got != expected)[0]
    return (
        f"{case.op.name} {case.dtype.name} of {a[lane]:#x} and {b[lane]:#x}, lane {lane}: "
        f"{got[lane]:#x}, not {expected[lane]:#x}"
    )


async def _check(dut, rng: np.random.Generator, cases, *, idle: float, first: float) -> None:
    """Send the cases and check the output of every cycle.

    A part ``idle`` of the cycles stays empty; a part ``first`` of the requests is a first touch.
    """
    await reset(dut, _INPUTS)
    checker = StreamChecker(dut, ("i", "o"))
    epoch = 0
    checked = 0
    pending: list[tuple[Case, bool, int] | None] = [None] * (NmcUnit.LATENCY - 1)
    cases = iter(cases)
    case = next(cases)
    while case is not None or any(pending):
        # Inputs set after a falling edge are sampled at the next rising edge.
        if rng.random() < 0.05:
            epoch = int(rng.integers(0, 256))
            cover("epoch changed while outstanding", any(pending))
        accumulates = int(rng.random() < 0.3)
        dut.epoch.value, dut.accumulates.value = epoch, accumulates
        valid = case is not None and rng.random() >= idle
        payload = None
        if valid:
            touched = rng.random() >= first
            tag = epoch if touched else epoch ^ int(rng.integers(1, 256))
            payload = _bits(
                _REQUEST,
                stored=case.stored,
                stored_epoch=tag,
                operand=case.operand,
                op=case.op.value,
                dtype=case.dtype.value,
            )
            cover("atom of another epoch accumulates", accumulates and not touched)
            touched |= bool(accumulates)
            cover("first touch", not touched)
            cover("later touch", touched)
            cover("back to back", pending[-1])
            cover(f"{case.op.name} {case.dtype.name}", touched)
            pending.append((case, touched, epoch))
            case = next(cases, None)
        else:
            cover("idle cycle", any(pending))
            pending.append(None)
        offer(dut, "i", payload)
        await next_cycle(dut)
        checker.sample()
        due = pending.pop(0)
        assert int(dut.o__valid.value) == (due is not None)
        if due is not None:
            sent, touched, tag = due
            result = int(dut.o__payload.value)
            value = _field(_RESULT, result, "value")
            assert _field(_RESULT, result, "epoch") == tag
            if touched:
                assert value == sent.reduced, _explain(sent, value)
            else:
                assert value == sent.operand, "A first touch changed the operand"
            checked += 1
    cocotb.log.info("%d atoms checked", checked)


@cocotb.test()
async def all_pairs_of_special_values(dut):
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    await _check(dut, rng, _all_pairs(), idle=0, first=0)


@cocotb.test()
async def random_atoms(dut):
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    await _check(dut, rng, _random(rng), idle=0.1, first=0.1)


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, _INPUTS)
