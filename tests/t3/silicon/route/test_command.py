"""``t3 route``."""

import json

import pytest

from sysmodel.lib.errors import ToolError
from t3.cli.main import main
from t3.silicon.elaboration import TOP, rtlil_text
from t3.silicon.library import load_library
from t3.silicon.netlist import read_netlist
from t3.silicon.osu018 import osu018
from t3.silicon.route import report, tools
from t3.silicon.route.blif import blif_text, without_parts
from t3.silicon.route.blocks import BlockRoute
from t3.silicon.route.flow import Routed, place_and_route
from t3.silicon.synthesis import synthesize
from tests.support.accumulator import Accumulator


def _tools_or_skip():
    try:
        tools.find_tools()
    except ToolError as error:
        pytest.skip(str(error))


def test_unknown_block(tmp_path, capsys):
    assert main(["route", "--block", "adder", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: --block: 'adder' is not allowed; allowed: arbiter, ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("absent", ["tclsh", "apt-get"])
def test_without_the_tools(absent, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tools, "_NEEDED", ("no/such/file",))
    monkeypatch.setattr(tools.shutil, "which", lambda name: None if name == absent else name)
    assert main(["route", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "NOTHING WAS PLACED AND ROUTED" in said and f"{absent} is not installed" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.verify
def test_a_cell_that_the_library_does_not_have(tmp_path, monkeypatch):
    _tools_or_skip()
    monkeypatch.setattr("t3.silicon.cached.cache_folder", lambda: tmp_path)
    text = ".model block\n.inputs n1\n.outputs n2\n.gate NOSUCH A=n1 Y=n2\n.end\n"
    with pytest.raises(ToolError, match="placement.sh of qflow stopped"):
        place_and_route(text)
    assert not list(tmp_path.glob("**/*.json"))


def test_report():
    block = BlockRoute("arbiter", 600.0, 2.0, 1, Routed(1234, 1000.0, 2.5, 4.0))
    (found,) = json.loads(json.dumps(report.as_dict([block])))["blocks"]
    assert found["filled"] == pytest.approx(0.6)
    assert found["routed"]["routed_ns"] == 4.0
    page = report.as_markdown([block])
    assert "| arbiter | 1,234 | 600 | 1,000 | 60% | 1 | 500 | 400 | 250 |" in page


@pytest.mark.verify
def test_accumulator_is_routed(tmp_path, monkeypatch):
    """Wires add delay, and both timing analyses of the cells alone agree roughly."""
    _tools_or_skip()
    file = osu018()
    library = load_library([file])
    module = synthesize(rtlil_text(Accumulator()), TOP, library, [file])
    text = blif_text(without_parts(read_netlist(module, library)), library, "block")
    monkeypatch.setattr("t3.silicon.cached.cache_folder", lambda: tmp_path)
    routed = place_and_route(text)
    assert routed.cells == text.count(".gate")
    assert routed.placed_ns < routed.routed_ns < 2 * routed.placed_ns
    assert routed.die_um2 > 1000
