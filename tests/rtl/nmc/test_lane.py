import pytest
from amaranth.sim import Simulator

from rtl.interface.encodings import Datatype, Operation
from rtl.nmc.lane import ReduceLane


def reduce(datatypes, cases: list[tuple]) -> list[int]:
    lane = ReduceLane(datatypes)
    results = []

    async def bench(ctx):
        for stored, operand, op, dtype, replace in [*cases, *cases[:1] * ReduceLane.LATENCY]:
            ctx.set(lane.stored, stored)
            ctx.set(lane.operand, operand)
            ctx.set(lane.op, op)
            ctx.set(lane.dtype, dtype)
            ctx.set(lane.replace, replace)
            results.append(ctx.get(lane.value))
            await ctx.tick()

    simulator = Simulator(lane)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return results[ReduceLane.LATENCY :]


@pytest.mark.parametrize("datatypes", [list(Datatype)[:2], list(Datatype)])
def test_one_number_per_cycle_of_any_format_and_operation(datatypes):
    cases = [
        (0x3C00, 0x4000, Operation.SUM, Datatype.FP16, 0, 0x4200),
        (0x3F80, 0x4000, Operation.SUM, Datatype.BF16, 0, 0x4040),
        (0x3C00, 0x4000, Operation.MAX, Datatype.FP16, 0, 0x4000),
        (0x3C00, 0x4000, Operation.MIN, Datatype.FP16, 0, 0x3C00),
        (0x3C00, 0x4000, Operation.SUM, Datatype.FP16, 1, 0x4000),
        (0x7C00, 0xFC00, Operation.SUM, Datatype.FP16, 0, 0x7E00),
        (0x7C00, 0xFC00, Operation.MIN, Datatype.BF16, 0, 0xFC00),
        (0x7F80, 0xFF80, Operation.SUM, Datatype.BF16, 0, 0x7FC0),
    ]
    assert reduce(datatypes, [case[:-1] for case in cases]) == [case[-1] for case in cases]


def test_short_formats_ignore_what_lies_above():
    cases = [
        (0xFFFF_3C00, 0x8000_4000, Operation.SUM, Datatype.FP16, 0),
        (0xFFFF_3F80, 0x8000_4000, Operation.MIN, Datatype.BF16, 0),
    ]
    values = reduce(list(Datatype), cases)
    assert [value & 0xFFFF for value in values] == [0x4200, 0x3F80]


def test_no_datatypes():
    with pytest.raises(ValueError, match=r"^Datatypes must have at least one entry, not \[\]$"):
        ReduceLane([])
