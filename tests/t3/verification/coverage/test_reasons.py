"""Which holes of the coverage are explained."""

import pytest

from t3.verification.coverage.reasons import reason_of


@pytest.mark.parametrize(
    "block, hole, part",
    [
        ("trigger", "toggle trigger.maps.commands[2].stride", "does not read"),
        ("top", "line top.trigger.1234 if", "a bench of its own"),
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
        ("top", "toggle top.dram__payload.data"),
        ("dma_engine", "toggle dma_engine.maps.commands[1].stride"),
        ("dma_engine", "toggle dma_engine.maps.regions[0].base"),
        ("registers", "line registers.table$60.2993 if"),
        ("map_table", "toggle map_table.maps.regions[0].base"),
        ("queue", "functional queue full"),
    ],
)
def test_not_explained(block, hole):
    assert reason_of(block, hole) is None
