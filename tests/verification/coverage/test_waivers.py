"""Coverage holes that have a waiver."""

import pytest

from verification.coverage.waivers import reason_of, unused_waivers


@pytest.mark.parametrize(
    "block, hole, part",
    [
        ("round_robin", "toggle round_robin.merge1__clock_enable", "one input"),
        ("top", "line top.context_1.trigger.1234 if", "a bench of its own"),
        ("queue", "toggle queue.$12", "an expression"),
    ],
)
def test_waived(block, hole, part):
    assert part in reason_of(block, hole)


@pytest.mark.parametrize(
    "block, hole",
    [
        ("trigger", "line trigger.1234 if"),
        ("top", "line top.1234 if"),
        ("top", "toggle top.dram__payload.data"),
        ("channel", "toggle channel.contexts[1].maps.regions[0].base"),
        ("channel", "toggle channel.access_merge.o__payload$48.data"),
        ("dma_engine", "toggle dma_engine.maps.commands[1].stride"),
        ("registers", "line registers.table$60.2993 if"),
        ("map_table", "toggle map_table.maps.regions[0].base"),
        ("queue", "functional queue full"),
    ],
)
def test_not_waived(block, hole):
    assert reason_of(block, hole) is None


def test_without_a_hole():
    """Unused waivers of a block are listed; unused waivers of all blocks are not."""
    hole = "toggle round_robin.clock_enable"
    (pattern,) = unused_waivers("round_robin", [])
    assert unused_waivers("round_robin", ["toggle round_robin.$1"]) == [pattern]
    assert unused_waivers("round_robin", [hole]) == []
    assert unused_waivers("queue", []) == []
