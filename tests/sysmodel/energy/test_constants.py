"""File of constants: required values and refused ones."""

from pathlib import Path

import pytest

from sysmodel.energy import constants as module
from sysmodel.energy.constants import Constants, known_constants, load_constants
from sysmodel.lib.errors import InputError
from t3.report.constants import constant_table

_FILE = Path(module.__file__).parent / "constants.toml"


def test_device_energy_is_that_of_its_source_at_the_sources_row_locality():
    """The source has 1.21 pJ/bit of activation over rows of 1 KB, and 3.75 pJ/bit in total."""
    c = known_constants()
    moved = c.dram_array.value + c.dram_bus.value + c.dram_io.value
    assert c.dram_activate.value * 1024 == pytest.approx(909, rel=1e-3)
    assert moved + 1.21 == pytest.approx(3.75, abs=0.005)


def test_the_dram_ranges_are_3_to_6_pj_a_bit():
    c = known_constants()
    for one in (c.dram_activate, c.dram_array, c.dram_bus):
        assert one.low / one.value == pytest.approx(3 / 3.92, abs=0.005)
        assert one.high / one.value == pytest.approx(6 / 3.92, abs=0.005)


def test_moved_to_the_ends_of_the_range():
    c = known_constants()
    moved = c.moved("low", "link", "wire")
    assert (moved.link.value, moved.wire.value) == (c.link.low, c.wire.low)
    assert moved.moved("high", "link").link.value == c.link.high
    assert moved.sram == c.sram
    assert c == load_constants(_FILE)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("value = 5.5", "value = 11", "link.value: 11 is not allowed; allowed: from low, 1.3, to"),
        ("value = 5.5", "value = -1", "link.value: -1 is not allowed; allowed: a number from 0"),
        ("value = 5.5", "vaule = 5.5", "link.*"),
        ("[link]", "[links]", "links?: .*"),
        ('unit = "pJ/bit/mm"', 'unit = "nJ"', "wire.unit: 'nJ' is not allowed; allowed: 'pJ'"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, old, new, problem):
    path = tmp_path / "mine.toml"
    text = _FILE.read_text(encoding="utf-8")
    before, section, after = text.partition("[link]\n")
    assert old in text
    if old in section + after and old.startswith("value"):
        path.write_text(before + section + after.replace(old, new, 1), encoding="utf-8")
    else:
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=f"mine.toml: {problem}"):
        load_constants(path)


def test_the_table_has_every_constant_with_its_source():
    rows = constant_table().splitlines()[2:]
    assert len(rows) == len(Constants.model_fields)
    for name, row in zip(Constants.model_fields, rows, strict=True):
        assert row.startswith(f"| `{name}` |")
        assert row.endswith(f"| {getattr(known_constants(), name).source} |")
