"""Table of the memories' clocks in the page on the system model."""

import re
from pathlib import Path

from sysmodel.config.bundled import MEMORIES
from sysmodel.config.memory import known_standard

_PAGE = Path(__file__).parents[2] / "docs" / "system-model.md"
_ROW = re.compile(
    r"^\| (`[a-z\d`, ]+`) \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) Gb/s at ([\d.]+) MHz \|$", re.M
)


def test_the_clocks_of_each_standard():
    """An atom has as many bits as the pins of its channel carry in its clocks."""
    named = []
    for names, bits, per_clock, clocks, gb_per_s, mhz in _ROW.findall(_PAGE.read_text("utf-8")):
        assert float(gb_per_s) == float(mhz) * int(per_clock) / 1e3
        for name in re.findall(r"`([^`]+)`", names):
            named.append(name)
            dram = known_standard(name).dram
            assert int(bits) * int(per_clock) * int(clocks) == 8 * dram["atom_bytes"]
            assert int(clocks) == dram["burst_clocks"]
    assert sorted(named) == MEMORIES.names()
