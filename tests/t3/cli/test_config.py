import pytest

from t3.cli.main import main

SMALL = """base = "asplos24"
[gpu]
compute_units = 8
[dram]
channels = 4
[l2]
capacity_mib = 2
slices = 8
[link]
bandwidth_gb_per_s = 18.75
"""


def test_show_and_diff(capsys):
    assert main(["config", "show", "b200"]) == 0
    assert "# b200: NVIDIA B200" in capsys.readouterr().out
    assert main(["config", "diff", "asplos24", "mi210"]) == 0
    assert "gpu.compute_units" in capsys.readouterr().out
    assert main(["config", "diff", "b200", "b200"]) == 0
    assert capsys.readouterr().out == "b200 and b200 have equal values\n"


@pytest.mark.parametrize(
    ("topology", "links"),
    [
        ("ring", "8 GPUs: 1 of 18.75 GB/s a direction, 500 ns"),
        ("fully-connected-8", "8 GPUs: 7 of 2.6786 GB/s a direction, 500 ns"),
        ("nvswitch-8", "8 GPUs: 4 of 112.5 GB/s a direction to a switch, "),
        ("torus-2d", "16 GPUs: 4 of 4.6875 GB/s a direction, 500 ns"),
        ("h100-nodes", "16 GPUs: 4 of 112.5 GB/s a direction to a switch, "),
    ],
)
def test_the_summary_has_the_links_of_the_topology(capsys, tmp_path, topology, links):
    file = tmp_path / "mine.toml"
    file.write_text(f'topology = "{topology}"\n{SMALL}')
    assert main(["config", "show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert f"\n# links of each of {links}" in shown
    assert ("; 1 of 50 GB/s a direction to a switch, " in shown) == (topology == "h100-nodes")
    file.write_text(shown)
    assert main(["config", "show", str(file)]) == 0


@pytest.mark.verify  # the hardware of as many channels takes long to elaborate
def test_validate_a_preset(capsys):
    assert main(["config", "validate", "h200"]) == 0
    assert capsys.readouterr().out.endswith("\nsound\n")


def test_validate(capsys, fails, tmp_path):
    small, file = tmp_path / "small.toml", tmp_path / "fast.toml"
    small.write_text(SMALL)
    assert main(["config", "validate", str(small)]) == 0
    shown = capsys.readouterr().out
    assert "\nlinks of each of 8 GPUs: 1 of 18.75 GB/s a direction, 500 ns\n" in shown
    assert shown.endswith("\nsound\n")
    file.write_text('base = "small.toml"\n[link]\nbandwidth_gb_per_s = 600\n')
    assert main(["config", "validate", str(file)]) == 1
    shown = capsys.readouterr()
    assert (
        "fast: link.bandwidth_gb_per_s: 600 of payload each way is more than the memory supplies"
        in shown.out
    )
    assert "sound" not in shown.out and shown.err == ""
    file.write_text('base = "asplos24"\n[t3]\ncommand_depth = 2\n')
    assert "t3.command_depth: 2 is not allowed; allowed: at least 4" in fails(
        ["config", "validate", str(file)]
    )
    file.write_text('base = "asplos24"\n[link]\nbandwidth = 600\n')
    assert "link.bandwidth: unknown key" in fails(["config", "validate", str(file)])


def test_an_unknown_command_of_a_group(fails):
    assert fails(["config", "walk"]) == "No such command 'walk'. Allowed: show, validate, diff"
    assert fails(["config"]) == "Missing command. Allowed: show, validate, diff"


def test_the_path_of_a_system_is_no_markup(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a[").mkdir()
    (tmp_path / "a[" / "b].toml").write_text('base = "asplos24"\nlink.latency_ns = 1\n')
    assert main(["config", "diff", "a[/b].toml", "asplos24"]) == 0
    assert "a[/b].toml and asplos24" in capsys.readouterr().out
