"""Each style of reset, on a small block and on a whole export."""

import json
import re

import pytest

from rtl.blocks import BLOCKS
from rtl.export.cells import CELLS, cell_text
from rtl.export.files import export_files
from rtl.export.hierarchy import Hierarchies
from rtl.export.ports import documented_ports
from rtl.export.reset_style import RESET_STYLES
from rtl.export.verilog import readable_verilog
from tests.support.exports import LEAST, cells, exported, written
from tests.support.verilog_comparison import SIMULATORS, compare
from tests.support.verilog_tools import verilate

# Registers alone: the input of a memory in a reset depends on when the reset begins.
BLOCK = "credit_window"
CYCLES = 4000
EDGES = {
    "synchronous": {"posedge clk"},
    "asynchronous": {"posedge clk, posedge rst"},
    "none": {"posedge clk"},
}


def made(style, name):
    """The block's text, and the ports."""
    component = BLOCKS[BLOCK].make(LEAST)
    text = readable_verilog(Hierarchies(style).parts(component, name), "Of a test.", style)
    ports = [{"name": port, "direction": "input", "width": 1} for port in ("clk", "rst")]
    return text, ports + [vars(port) for port in documented_ports(component)]


def models(folder):
    return [path for path in cells(written(folder, {f"{c}.v": cell_text(c) for c in CELLS}))]


@pytest.mark.parametrize("style", RESET_STYLES)
def test_registers_are_reset_so(style):
    text, _ = made(style, "t3_block")
    edges = {edge.replace("gated_clk", "clk") for edge in re.findall(r"@\((posedge .*)\)", text)}
    assert edges == EDGES[style]
    assert ("input  wire rst" in text) == (style != "none")
    assert re.search(r"^  reg (\[\d+:0\] )?\w+ = \d+'h", text, re.MULTILINE)


@pytest.mark.parametrize(
    "simulator",
    [
        pytest.param(name, marks=pytest.mark.verify if name == "verilator" else ())
        for name in SIMULATORS
    ],
)
def test_asynchronous_is_as_synchronous(simulator, tmp_path):
    """Both styles of reset behave alike outside a reset that is held over a clock edge."""
    first, ports = made("synchronous", "first")
    second, _ = made("asynchronous", "second")
    changes, _ = compare(
        tmp_path,
        simulator,
        (first, second),
        ports,
        models(tmp_path),
        cycles=CYCLES,
        in_reset=False,
    )
    assert changes > CYCLES // 20


@pytest.mark.verify
@pytest.mark.parametrize("style", RESET_STYLES)
def test_export(style, tmp_path):
    files = exported(LEAST, reset=style)
    assert json.loads(files["manifest.json"])["reset"] == style
    folder = written(tmp_path, files)
    arguments = ["--lint-only", "-Wall", "--top-module", "t3", folder / "t3.vlt"]
    done = verilate(*arguments, folder / "t3.v", *cells(folder))
    assert (done.returncode, done.stderr) == (0, "")


def test_unknown_style():
    with pytest.raises(ValueError, match="Reset must be one of synchronous, .*, not 'late'"):
        export_files(LEAST, reset="late")
