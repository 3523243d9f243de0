"""The readable Verilog does in every cycle what the back end's plain Verilog does."""

import json

import pytest
from exported import SMALL, exported, needs, run

from rtl.blocks import BLOCKS, TOP
from rtl.export.back_end import verilog_text
from rtl.export.names import identifier

CYCLES = 1000
_SLOW = {TOP, "channel", "location_lookup", "range_lookup"}  # for Icarus
SEED = 20241


def random_bits(port):
    """An expression for an input: random bits, but what empties a block only now and then."""
    words = ", ".join(["$random(seed)"] * -(-port["width"] // 32))
    return f"{{{words}}} % 64 == 0" if port["name"] == "clear" else f"{{{words}}}"


def bench(ports):
    """Drives both with the same random inputs and compares all outputs before each edge."""
    inputs = [p for p in ports if p["direction"] == "input" and p["name"] != "clk"]
    outputs = [p for p in ports if p["direction"] == "output"]
    lines = ["module bench;", "  integer seed, cycle, changes = 0;", "  reg clk = 0;"]
    lines += [f"  reg [{p['width'] - 1}:0] {p['name']} = 0;" for p in inputs]
    for side in ("plain", "readable"):
        lines += [f"  wire [{p['width'] - 1}:0] {side}_{p['name']};" for p in outputs]
        pins = [f".{p['name']}({p['name']})" for p in ports if p["direction"] == "input"]
        pins += [f".{p['name']}({side}_{p['name']})" for p in outputs]
        lines.append(f"  {side} {side}({', '.join(pins)});")
    both = {
        s: "{" + ", ".join(f"{s}_{p['name']}" for p in outputs) + "}" for s in ("plain", "readable")
    }
    total = sum(p["width"] for p in outputs)
    lines += [
        f"  reg [{total - 1}:0] before;",
        "  initial begin",
        f"    seed = {SEED};",
        f"    for (cycle = 0; cycle < {CYCLES}; cycle = cycle + 1) begin",
        *(f"      {p['name']} = {random_bits(p)};" for p in inputs if p["name"] != "rst"),
    ]
    if any(p["name"] == "rst" for p in inputs):
        lines.append("      rst = cycle < 2 || cycle % 997 == 0;")
    lines += [
        "      #1;",
        f"      if ({both['plain']} !== {both['readable']}) begin",
        '        $display("DIFFERENT in cycle %0d", cycle);',
        "        $finish;",
        "      end",
        f"      if (cycle > 0 && before !== {both['plain']}) changes = changes + 1;",
        f"      before = {both['plain']};",
        "      clk = 1; #1; clk = 0; #1;",
        "    end",
        '    $display("SAME, changes %0d", changes);',
        "    $finish;",
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(name, marks=pytest.mark.verify if name in _SLOW else ())
        for name, block in BLOCKS.items()
        if block.is_exported
    ],
)
def test_random_inputs(block, tmp_path):
    """The seed is fixed and stands in the bench."""
    icarus = needs("iverilog")
    name = "t3" if block == TOP else f"t3_{block}"
    readable = exported()[f"{name}.v"].replace(f"module {name} (", "module readable (")
    plain = verilog_text(BLOCKS[block].make(SMALL), "plain")
    entries = json.loads(exported()["manifest.json"])["files"]
    ports = next(entry["ports"] for entry in entries if entry["file"] == f"{name}.v")
    for port in ports:  # keywords are escaped there
        if port["name"].endswith("_") and identifier(port["name"][:-1]) == port["name"]:
            plain = plain.replace(f"\\{port['name'][:-1]} ", f"{port['name']} ")
    files = {"readable.v": readable, "plain.v": plain, "bench.v": bench(ports)}
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    done = run(icarus, "-g2005", "-o", "sim", *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = run(tmp_path / "sim").stdout
    verdict, _, changes = said.strip().partition(", changes ")
    assert verdict == "SAME", f"{said} (seed {SEED})"
    assert int(changes) > CYCLES // 10
