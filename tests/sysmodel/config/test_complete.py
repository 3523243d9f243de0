"""A system as one file, and the differences of two systems."""

import pytest

from sysmodel.config.complete import complete_toml, differences
from sysmodel.config.system import load_system, preset_names
from sysmodel.lib.errors import InputError

_WORDS = {"name", "description", "source"}


@pytest.mark.parametrize("name", preset_names())
def test_the_file_is_the_same_system_without_a_base(name, tmp_path):
    text = complete_toml(name)
    (tmp_path / "whole.toml").write_text(text)
    again = load_system(str(tmp_path / "whole.toml"))
    assert "base =" not in text
    assert again.model_dump(exclude=_WORDS) == load_system(name).model_dump(exclude=_WORDS)
    assert (again.description, again.source) == (
        load_system(name).description,
        load_system(name).source,
    )


def test_every_value_names_its_file_and_its_source(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'base = "h200"\n[link]\nlatency_ns = 700  # measured\n'
        "[[kernel.alternatives]]\ntile_m = 64\ntile_n = 64\ndepth_u = 64\nwaves_m = 4\n"
        "waves_n = 1\nprefetch_depth = 4\n"
    )
    lines = complete_toml(str(tmp_path / "mine.toml")).splitlines()
    (latency,) = (line for line in lines if line.startswith("latency_ns = 700"))
    assert latency.endswith(f"# {tmp_path / 'mine.toml'}: measured")
    (clock,) = (line for line in lines if line.startswith("boost_clock_mhz = 1830"))
    assert "# h200.toml: 989.4 TFLOP/s [H200]" in clock
    # A file replaces an array as a whole.
    assert lines.count("[[kernel.alternatives]]") == 1 and lines.count("tile_m = 64") <= 1


def test_differences():
    found = differences("asplos24", "mi210")
    assert ("gpu.compute_units", "80", "104") in found
    assert not differences("h200", "h200")
    assert ("dram.standard", "-", '"hbm3e"') in differences("asplos24", "h200")
    with pytest.raises(InputError, match="one: 'h900' is not known"):
        differences("h900", "h200")
