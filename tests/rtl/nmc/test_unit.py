import numpy as np
import pytest

from rtl.interface.encodings import Datatype, Operation
from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters
from tb.nmc_unit.operands import from_word, structured, to_word
from tb.nmc_unit.reference import BITS, reduce_bits
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

EPOCH = 0xA5
ATOM_BYTES = 32


def words(atom: int, atom_bytes: int = ATOM_BYTES) -> list[int]:
    return [atom >> shift & (1 << 64) - 1 for shift in range(0, 8 * atom_bytes, 64)]


def simulate(requests: list[dict | None], *, atom_bytes: int = ATOM_BYTES) -> list[tuple | None]:
    """Return the output of each cycle, as ``(atom, epoch)``, for requests from cycle 0 on.

    A request may set ``current``, the unit's epoch in its cycle, and ``accumulates``.
    """
    unit = device(NmcUnit, T3Parameters(contexts=1, with_data=True, atom_bytes=atom_bytes))
    results = []

    async def bench(ctx):
        for request in [*requests, *[None] * (NmcUnit.LATENCY + 2)]:
            ctx.set(unit.i.valid, request is not None)
            fields = dict(request or {})
            ctx.set(unit.epoch, fields.pop("current", EPOCH))
            ctx.set(unit.accumulates, fields.pop("accumulates", 0))
            if fields:
                fields["stored"] = words(fields["stored"], atom_bytes)
                fields["operand"] = words(fields["operand"], atom_bytes)
                ctx.set(unit.i.p, fields)
            if ctx.get(unit.o.valid):
                atom = ctx.get(unit.o.p.value.as_value())
                results.append((atom, ctx.get(unit.o.p.epoch)))
            else:
                results.append(None)
            await ctx.tick()

    simulate_device(unit, bench)
    return results


def request(stored: int, operand: int, op: Operation, dtype: Datatype, **others) -> dict:
    fields = {"stored": stored, "operand": operand, "op": op, "dtype": dtype}
    return fields | {"stored_epoch": EPOCH} | others


def numbers(bits: list[int], dtype: Datatype) -> int:
    return to_word(np.array(bits, BITS[dtype]))


def check_pairs(a: np.ndarray, b: np.ndarray, dtype: Datatype) -> None:
    """Every operation on every pair, in one stream of requests, against the reference."""
    lanes = ATOM_BYTES // a.itemsize
    a, b = a.reshape(-1, lanes), b.reshape(-1, lanes)
    cases = [(op, x, y) for op in Operation for x, y in zip(a, b, strict=True)]
    results = simulate([request(to_word(x), to_word(y), op, dtype) for op, x, y in cases])
    results = results[NmcUnit.LATENCY : NmcUnit.LATENCY + len(cases)]
    for (op, x, y), (atom, epoch) in zip(cases, results, strict=True):
        got = from_word(atom, dtype, ATOM_BYTES)
        expected = reduce_bits(x, y, op, dtype)
        wrong = np.flatnonzero(got != expected)
        assert not wrong.size, (
            f"{op.name} {dtype.name} of {x[wrong[0]]:#x} and {y[wrong[0]]:#x}, lane {wrong[0]}: "
            f"{got[wrong[0]]:#x}, not {expected[wrong[0]]:#x}"
        )
        assert epoch == EPOCH


@pytest.mark.parametrize(
    "dtype, values",
    [
        (Datatype.FP16, [0x0000, 0x0001, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0x7C00, 0x7D01]),
        (Datatype.BF16, [0x0000, 0x0001, 0x007F, 0x0080, 0x3F80, 0x7F7F, 0x7F80, 0x7F81]),
        (Datatype.FP32, [0, 1, 0x7F_FFFF, 0x80_0000, 0x3F80_0000, 0x7F7F_FFFF, 0x7F80_0000,
                         0x7FC0_0001]),
    ],
)  # fmt: skip
def test_all_pairs_of_special_values(dtype, values):
    sign = 1 << 8 * BITS[dtype](0).nbytes - 1
    values = np.array([*values, *(sign | value for value in values)], BITS[dtype])
    a, b = np.meshgrid(values, values)
    check_pairs(a.ravel(), b.ravel(), dtype)


@pytest.mark.parametrize("dtype", Datatype)
def test_structured_random(dtype):
    seed = 7001
    print(f"seed {seed}")
    check_pairs(*structured(np.random.default_rng(seed), dtype, 160), dtype)


@pytest.mark.parametrize(
    "op, dtype, a, b, expected",
    [
        (Operation.SUM, Datatype.FP16, 0x7C00, 0xFC00, 0x7E00),  # inf - inf
        (Operation.SUM, Datatype.BF16, 0xFF80, 0x7F80, 0x7FC0),
        (Operation.SUM, Datatype.FP32, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000),
        (Operation.SUM, Datatype.FP16, 0xFC00, 0x7BFF, 0xFC00),
        (Operation.SUM, Datatype.FP16, 0xFFFF, 0x7C00, 0x7E00),  # any NaN becomes canonical
        (Operation.SUM, Datatype.FP16, 0x0000, 0x8000, 0x0000),
        (Operation.SUM, Datatype.FP16, 0x8000, 0x8000, 0x8000),
        (Operation.MAX, Datatype.FP16, 0x8000, 0x0000, 0x0000),  # -0 < +0
        (Operation.MAX, Datatype.FP16, 0x0000, 0x8000, 0x0000),
        (Operation.MIN, Datatype.FP16, 0x8000, 0x0000, 0x8000),
        (Operation.MIN, Datatype.FP16, 0x0000, 0x8000, 0x8000),
        (Operation.MAX, Datatype.BF16, 0x7F80, 0x7F81, 0x7FC0),  # a signalling NaN wins too
        (Operation.MIN, Datatype.FP32, 0xFF80_0000, 0xFFC0_0000, 0x7FC0_0000),
        (Operation.MAX, Datatype.FP32, 0xC000_0000, 0xBF80_0000, 0xBF80_0000),  # -2, -1
        (Operation.MIN, Datatype.FP32, 0xC000_0000, 0xBF80_0000, 0xC000_0000),
    ],
)
def test_operation(op, dtype, a, b, expected):
    lanes = 8 // BITS[dtype](0).nbytes
    stored, operand = numbers([a] * lanes, dtype), numbers([b] * lanes, dtype)
    results = simulate([request(stored, operand, op, dtype)], atom_bytes=8)
    assert results[NmcUnit.LATENCY] == (numbers([expected] * lanes, dtype), EPOCH)


@pytest.mark.parametrize("dtype", Datatype)
@pytest.mark.parametrize("op", Operation)
def test_first_touch_stores_the_operand_unchanged(op, dtype):
    one = numbers([0x3C00] * 4, Datatype.FP16)
    # Zeros of both signs, and NaNs that an operation would not give back.
    operand = numbers([0x8000, 0x7D01, 0xFFFF, 0x0000], Datatype.FP16)
    others = [epoch for epoch in (0, EPOCH ^ 1, EPOCH ^ 0x80, 0xFF) if epoch != EPOCH]
    results = simulate(
        [request(one, operand, op, dtype, stored_epoch=epoch) for epoch in others], atom_bytes=8
    )
    results = [result for result in results if result is not None]
    assert results == [(operand, EPOCH)] * len(others)


@pytest.mark.parametrize("dtype", Datatype)
def test_first_touch_keeps_every_bit_of_any_operand(dtype):
    seed = 7005
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    stored, operands = structured(rng, dtype, 60 * ATOM_BYTES // BITS[dtype](0).nbytes)
    stored, operands = (map(to_word, each.reshape(60, -1)) for each in (stored, operands))
    operands = [*operands, *(int.from_bytes(rng.bytes(ATOM_BYTES), "little") for _ in range(60))]
    cases = zip([*stored, *operands[60:]], operands, rng.integers(0, 3, 120), strict=True)
    results = simulate(
        [request(a, b, Operation(int(op)), dtype, stored_epoch=EPOCH ^ 1) for a, b, op in cases]
    )
    assert [result[0] for result in results if result] == operands


@pytest.mark.parametrize("epoch", [0, EPOCH, EPOCH ^ 1, 0xFF])
def test_a_launch_that_accumulates_adds_to_data_of_any_epoch(epoch):
    """The bit counts in the cycle of the request, and the result has the current epoch."""
    one, two, three = (numbers([bits] * 4, Datatype.FP16) for bits in (0x3C00, 0x4000, 0x4200))
    touch = request(one, two, Operation.SUM, Datatype.FP16, stored_epoch=epoch)
    results = simulate([touch | {"accumulates": bit} for bit in (1, 0, 1)], atom_bytes=8)
    replaced = three if epoch == EPOCH else two
    expected = [(value, EPOCH) for value in (three, replaced, three)]
    assert results[NmcUnit.LATENCY : NmcUnit.LATENCY + 3] == expected


def test_epoch_is_the_one_of_the_requests_cycle():
    one, two, three = (numbers([bits] * 4, Datatype.FP16) for bits in (0x3C00, 0x4000, 0x4200))
    cases = [(7, 7, three), (7, 8, two), (8, 8, three), (9, 8, two)]
    results = simulate(
        [
            request(one, two, Operation.SUM, Datatype.FP16, stored_epoch=stored, current=current)
            for stored, current, _ in cases
        ],
        atom_bytes=8,
    )
    expected = [(value, current) for _, current, value in cases]
    assert results[NmcUnit.LATENCY : NmcUnit.LATENCY + len(cases)] == expected


def test_latency_and_rate():
    assert NmcUnit.LATENCY == 4
    seed = 7003
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    requests, expected = [], []
    for absent in rng.integers(0, 3, 150) == 0:
        op = Operation(int(rng.integers(0, 3)))
        dtype = Datatype(int(rng.integers(0, 3)))
        a, b = structured(rng, dtype, 8 // BITS[dtype](0).nbytes)
        requests.append(None if absent else request(to_word(a), to_word(b), op, dtype))
        expected.append(None if absent else (to_word(reduce_bits(a, b, op, dtype)), EPOCH))
    results = simulate(requests, atom_bytes=8)
    assert results == [None] * NmcUnit.LATENCY + expected + [None, None]


def test_lanes_follow_the_atom_size():
    a = np.arange(32, dtype=np.float16).view(np.uint16)
    sums = (2 * np.arange(32, dtype=np.float16)).view(np.uint16)
    both = request(to_word(a), to_word(a), Operation.SUM, Datatype.FP16)
    assert simulate([both], atom_bytes=64)[NmcUnit.LATENCY] == (to_word(sums), EPOCH)


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"^Parameters must be T3Parameters, not 32$"):
        NmcUnit(32)
    with pytest.raises(ValueError, match=r"^with_data of the parameters must be True, not False$"):
        NmcUnit(T3Parameters(contexts=1, with_data=False))
