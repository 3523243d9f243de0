"""Verilator's lint of the exported Verilog, with the waivers of ``rtl/export/verilator.vlt``."""

from pathlib import Path

import pytest

import rtl
from rtl.export.back_end import verilog_text
from rtl.parameters import T3Parameters
from rtl.top import T3
from tests.support.verilog_tools import verilate

WAIVERS = Path(rtl.__file__).with_name("export") / "verilator.vlt"
LATCH = """
module t3(input clk, input enable, input [3:0] value, output reg [3:0] held);
  always @* if (enable) held = value;
endmodule
"""


def lint(path):
    """Return Verilator's messages."""
    done = verilate("--lint-only", "-Wall", WAIVERS, path)
    assert (done.returncode != 0) == ("%Warning" in done.stderr or "%Error" in done.stderr)
    return done.stderr


@pytest.mark.parametrize(
    "p",
    [
        pytest.param(
            T3Parameters(contexts=1, channels=2, banks=2), id="timing", marks=pytest.mark.verify
        ),
        pytest.param(T3Parameters(contexts=1, with_data=True), id="data", marks=pytest.mark.verify),
        pytest.param(
            T3Parameters(
                contexts=1,
                system_channels=1,
                commands=1,
                regions=1,
                ranges=1,
                wavefronts=1,
                ways=1,
                banks=1,
            ),
            id="least",
            marks=pytest.mark.verify,
        ),
    ],
)
def test_top_is_clean(p, tmp_path):
    path = tmp_path / "t3.v"
    path.write_text(verilog_text(T3(p), "t3"))
    assert lint(path) == ""


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (LATCH, "LATCH"),
        ("module t3(input a, output b); wire c; assign b = a & c; endmodule", "UNDRIVEN"),
        ("module t3(input [3:0] a, output [1:0] b); assign b = a; endmodule", "WIDTHTRUNC"),
    ],
)
def test_waivers_do_not_hide_faults(text, rule, tmp_path):
    path = tmp_path / "t3.v"
    path.write_text(text)
    assert f"%Warning-{rule}" in lint(path)
