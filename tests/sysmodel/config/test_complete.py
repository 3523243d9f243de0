"""A system as one file, and the differences of two systems."""

import shlex

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


def _on_a_network(folder, rate):
    """Write a system and a topology of the same names into a folder."""
    folder.mkdir()
    network = (
        f'base = "nvswitch"\ndescription = "{folder.name}"\nlink.bandwidth_gb_per_s = {rate}\n'
    )
    (folder / "network.toml").write_text(network)
    system = folder / "system.toml"
    system.write_text('base = "h100"\ntopology = "network.toml"\n')
    return str(system)


def test_values_of_topologies_of_one_name_are_compared(tmp_path):
    rates = {"fast": 300, "slow": 100, "also-slow": 100}
    fast, slow, also_slow = (_on_a_network(tmp_path / name, rate) for name, rate in rates.items())
    assert differences(fast, slow) == [("topology.link.bandwidth_gb_per_s", "300.0", "100.0")]
    assert not differences(slow, also_slow)
    assert differences("h100", slow) == [
        ("topology", '"nvswitch"', '"network"'),
        ("topology.link.bandwidth_gb_per_s", "-", "100.0"),
    ]
    nodes = tmp_path / "nodes.toml"
    nodes.write_text('base = "h100"\ntopology = "h100-nodes"\n')
    assert ("topology.inside.switch.planes", "-", "4") in differences("h100", str(nodes))


def test_a_comment_says_where_the_values_of_the_topology_are(tmp_path):
    system = _on_a_network(tmp_path / "a b", 300)
    network = tmp_path / "a b" / "network.toml"
    based = tmp_path / "based.toml"
    based.write_text('base = "a b/system.toml"\n')
    for source in (system, str(based)):
        lines = complete_toml(source).splitlines()
        (number,) = (n for n, line in enumerate(lines) if line.startswith("topology = "))
        _, _, command = lines[number + 1].partition("# the values of the topology: t3 ")
        assert shlex.split(command) == ["topology", "show", str(network), "--system", source]
