"""Reduce unit at one atom per cycle, against NumPy: all pairs of special values, then random."""

import random
from collections.abc import Iterable, Iterator

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from rtl.layouts import Datatype, NmcRequest, NmcResult, Operation
from rtl.nmc import NmcUnit
from rtl.parameters import T3Parameters
from tb.nmc.reference import BITS, from_word, reduce_bits, special_values, structured, to_word

PARAMETERS = T3Parameters(payload=True)
_REQUEST = NmcRequest(PARAMETERS)
_RESULT = NmcResult(PARAMETERS)
_LANES = {dtype: PARAMETERS.atom_bytes // BITS[dtype](0).nbytes for dtype in Datatype}


def _field(layout, name: str, value: int) -> int:
    return value << layout[name].offset


def _take(layout, name: str, bits: int) -> int:
    return bits >> layout[name].offset & (1 << layout[name].width) - 1


def _all_pairs() -> Iterator[tuple]:
    """Each pair of special values of each format under each operation, and in both lanes of a
    word: the second time, the numbers of the atom are turned around."""
    for dtype in Datatype:
        values = np.array(special_values(dtype), BITS[dtype])
        a, b = (grid.ravel() for grid in np.meshgrid(values, values))
        spare = -len(a) % _LANES[dtype]
        a, b = (np.append(each, each[:spare]).reshape(-1, _LANES[dtype]) for each in (a, b))
        for op in Operation:
            for x, y in zip(a, b, strict=True):
                yield x, y, op, dtype, True
                yield x[::-1], y[::-1], op, dtype, True


def _random(rng: np.random.Generator, atoms: int) -> Iterator[tuple]:
    """Sums two times out of four, first touches one out of eight; every field changes freely."""
    for _ in range(atoms):
        dtype = Datatype(int(rng.integers(0, 3)))
        op = Operation(max(0, int(rng.integers(-1, 3))))
        a, b = structured(rng, dtype, _LANES[dtype])
        yield a, b, op, dtype, bool(rng.integers(0, 8))


async def _check(dut, rng: np.random.Generator, cases: Iterable[tuple], idle: float) -> None:
    """Send the cases, a part ``idle`` of the cycles left empty, and check every cycle's output."""
    cocotb.start_soon(Clock(dut.clk, 2, "ns").start())
    dut.rst.value = 1
    dut.i__valid.value = 0
    for _ in range(2):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    expected: list[tuple | None] = [None] * NmcUnit.LATENCY
    epoch = int(rng.integers(0, 256))
    checked = 0
    cases = iter(cases)
    case = next(cases)
    # Between falling edges: what is given here is taken at the rising edge in between.
    while case is not None or any(expected):
        valid = case is not None and rng.random() >= idle
        dut.i__valid.value = int(valid)
        if rng.random() < 0.05:
            epoch = int(rng.integers(0, 256))
        dut.epoch.value = epoch
        if valid:
            a, b, op, dtype, again = case
            tag = epoch if again else epoch ^ int(rng.integers(1, 256))
            dut.i__payload.value = (
                _field(_REQUEST, "stored", to_word(a))
                | _field(_REQUEST, "stored_epoch", tag)
                | _field(_REQUEST, "operand", to_word(b))
                | _field(_REQUEST, "op", op.value)
                | _field(_REQUEST, "dtype", dtype.value)
            )
            value = reduce_bits(a, b, op, dtype) if again else b
            expected.append((a, b, op, dtype, again, value, epoch))
            case = next(cases, None)
        else:
            dut.i__payload.value = random.getrandbits(_REQUEST.size)
            expected.append(None)
        await FallingEdge(dut.clk)
        # One edge has passed since the request was given, LATENCY since the one checked here.
        due = expected[1]
        expected = expected[1:]
        assert int(dut.o__valid.value) == (due is not None)
        if due is not None:
            a, b, op, dtype, again, value, tag = due
            result = int(dut.o__payload.value)
            got = from_word(_take(_RESULT, "value", result), dtype, PARAMETERS.atom_bytes)
            wrong = np.flatnonzero(got != value)
            assert not wrong.size, (
                f"{op.name} {dtype.name} of {a[wrong[0]]:#x} and {b[wrong[0]]:#x}, "
                f"{'reduced' if again else 'first touch'}, lane {wrong[0]}: "
                f"{got[wrong[0]]:#x}, not {value[wrong[0]]:#x}"
            )
            assert _take(_RESULT, "epoch", result) == tag
            checked += 1
    cocotb.log.info("%d atoms checked", checked)


@cocotb.test()
async def all_pairs_of_special_values(dut):
    await _check(dut, np.random.default_rng(cocotb.RANDOM_SEED), _all_pairs(), idle=0)


@cocotb.test()
async def random_atoms(dut):
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    await _check(dut, rng, _random(rng, 20_000), idle=0.1)
