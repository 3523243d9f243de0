"""Places of a collective's data: banks of the operands of a sum."""

import pytest

from sysmodel.config.system import load_system, preset_names
from sysmodel.runs.collective_layout import rotations


def bank(fields, local):
    """Bits of group, bank and stack of an atom of a channel, without the permutation by rows."""
    found = 0
    for name, bits in fields:
        if name != "column":
            found = found << bits | local & ((1 << bits) - 1)
        local >>= bits
    return found


@pytest.mark.parametrize("preset", preset_names())
def test_operands_of_a_sum_lie_in_different_banks(preset):
    timing = load_system(preset).dram.timing_cycles
    for local in range(3000):
        banks = {bank(timing.address_fields, local + one) for one in rotations(timing, 8)}
        assert len(banks) == 8


def test_more_places_than_banks():
    timing = load_system("asplos24").dram.timing_cycles
    assert len(rotations(timing, 73)) == 73
