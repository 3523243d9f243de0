"""Values of a system with their sources, which are the comments of its files."""

import json

from sysmodel.config.parameters import assumptions, parameters
from sysmodel.config.system import load_system
from t3.experiments.evaluation.study import system_value

TEXT = """
base = "asplos24"

[gpu]
compute_units = 40                  # [T1]
workgroup_launch_ns = 100           # assumption: half of it

[[kernel.alternatives]]
tile_m = 128                        # [T1]
[[kernel.alternatives]]
tile_m = 64                         # assumption: smaller

[dram.timing]
tCCD_WL = { clocks = 4 }            # [R] recalled
tRP = { ns = 14 }
"""


def test_comments_and_base(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    found = {one.key: one for one in parameters(str(path))}
    launch = found["gpu.workgroup_launch_ns"]
    assert (launch.value, launch.source) == ("100", "assumption: half of it")
    assert launch.file == str(path)
    assert found["dram.timing.tRP"].source == ""
    assert found["link.latency_ns"].value == "500"  # value of the base
    assert found["link.latency_ns"].file == "asplos24.toml"
    tiles = [found[f"kernel.alternatives.{i}.tile_m"].value for i in range(2)]
    assert (found["kernel.tile_m"].value, tiles) == ("128", ["128", "64"])
    assumed = {one.key for one in assumptions(str(path))}
    assert {"gpu.workgroup_launch_ns", "dram.timing.tCCD_WL", "t3.mca_cuts"} <= assumed
    assert not {"gpu.compute_units", "dram.timing.tRP", "link.latency_ns"} & assumed


# Sections of their own, and values that the preset leaves out.
_NOT_GIVEN = (
    *("standard", "timing", "alternatives", "boost_clock_mhz", "low_latency", "in_switch"),
    *("algorithm", "direct_most_kib", "together_ns"),
)


def test_every_value_of_the_preset_is_found():
    system = load_system("asplos24")
    found = {one.key: one.value for one in parameters("asplos24")}
    for section in ("gpu", "kernel", "l2", "dram", "link", "collective", "t3"):
        for name in type(getattr(system, section)).model_fields:
            if name not in _NOT_GIVEN:
                shown = json.loads(found[f"{section}.{name}"])  # here TOML is JSON
                value = system_value(system, f"{section}.{name}")
                assert value in (shown, str(shown))
    given = system.dram.timing.model_dump(exclude_none=True)
    assert {f"dram.timing.{name}" for name in given} <= found.keys()
    assert found["topology"] == '"ring"'


def test_a_memory_s_standard_has_its_own_sources():
    """HBM3E is HBM3 with another rate; a preset may override its values."""
    found = {one.key: one for one in parameters("h200")}
    assert "JESD238" in found["dram.core_volts"].source
    assert found["dram.timing.tRP"].source == found["dram.timing.tRP"].source.strip()
    assert found["dram.channels"].value == "192"
    assert found["dram.refresh"].assumed and not found["dram.clock_mhz"].assumed


def test_any_way_to_write_a_value(tmp_path):
    """Dotted keys, lists over several lines, and a base that is a file beside it."""
    (tmp_path / "base.toml").write_text('base = "h200"\nlink.latency_ns = 700  # measured\n')
    (tmp_path / "mine.toml").write_text(
        'base = "base.toml"\n[t3]\nmca_levels = [\n    60,\n    30,\n    15,\n]  # falling\n'
    )
    found = {one.key: one for one in parameters(str(tmp_path / "mine.toml"))}
    latency = found["link.latency_ns"]
    assert (latency.value, latency.file, latency.source) == ("700", "base.toml", "measured")
    levels = found["t3.mca_levels"]
    assert (levels.value, levels.source) == ("[60, 30, 15]", "falling")
    assert found["dram.timing.tRP"].value == "{ ns = 16.25 }"
    assert found["dram.timing.tRP"].file == "hbm3.toml"
    assert found["gpu.compute_units"].file == "h200.toml"


def test_a_table_between_the_entries_of_an_array(tmp_path):
    """The entries are numbered on, and a number sign in a string begins no comment."""
    entry = "[[kernel.alternatives]]\ntile_m = {}  # {}\n"
    path = tmp_path / "mine.toml"
    path.write_text(entry.format(128, "large") + "[gpu]\n" + entry.format(64, "small"))
    found = {one.key: one for one in parameters(str(path))}
    tiles = [found[f"kernel.alternatives.{index}.tile_m"] for index in range(2)]
    assert [(one.value, one.source) for one in tiles] == [("128", "large"), ("64", "small")]
    path.write_text('[dram]\nrefresh = "a # b"  # c\n')
    (refresh,) = parameters(str(path))
    assert (refresh.value, refresh.source) == ('"a # b"', "c")
