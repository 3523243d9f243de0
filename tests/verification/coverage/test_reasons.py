"""Which holes of the coverage are explained."""

import pytest

from verification.coverage.reasons import reason_of


@pytest.mark.parametrize(
    "block, hole, part",
    [
        ("trigger", "toggle trigger.maps.commands[2].pitch", "does not read"),
        ("registers", "toggle registers.maps.windows[0].base", "seldom accepted"),
        ("top", "line top.trigger.1234 if", "a bench of its own"),
        ("top", "toggle top.dram__payload", "small kernels"),
        ("queue", "toggle queue.$12", "an expression"),
    ],
)
def test_explained(block, hole, part):
    assert part in reason_of(block, hole)


@pytest.mark.parametrize(
    "block, hole",
    [
        ("trigger", "line trigger.1234 if"),
        ("top", "line top.1234 if"),
        ("map_table", "toggle map_table.maps.windows[0].base"),
        ("queue", "functional queue full"),
    ],
)
def test_not_explained(block, hole):
    assert reason_of(block, hole) is None
