"""Other tools read every exported file without relevant warnings."""

import json
import re

import pyslang
import pytest

from rtl.export.cells import CELLS
from rtl.link.parameters import LinkParameters
from tests.support.exports import (
    EXAMPLE,
    LEAST,
    LINK,
    SMALL,
    TWO_CONTEXTS,
    cells,
    exported,
    with_links,
    written,
)
from tests.support.optional_tools import needs
from tests.support.verilog_tools import run, verilate

PARAMETERS = pytest.mark.parametrize(
    "p",
    [
        pytest.param(SMALL, id="two-channels", marks=pytest.mark.verify),
        pytest.param(EXAMPLE, id="example"),
        pytest.param(LEAST, id="least", marks=pytest.mark.verify),
        pytest.param(TWO_CONTEXTS, id="two-contexts", marks=pytest.mark.verify),
    ],
)
LATCH = "module bad(input e, d, output reg q); always @* if (e) q = d; endmodule"


def verilog(p):
    """List all files of the first parameters, and the tops of the others."""
    files = [f for f in exported(p) if f.endswith(".v") and f.removesuffix(".v") not in CELLS]
    return files if p is SMALL else files[:1]


def lint(folder, file, *options):
    """Lint a file with Verilator, together with the cells."""
    top = file.removesuffix(".v")
    (waivers,) = folder.glob("*.vlt")
    arguments = ["--lint-only", "-Wall", "--top-module", top, *options, waivers]
    return verilate(*arguments, folder / file, *cells(folder))


@PARAMETERS
def test_verilator(p, tmp_path):
    files = exported(p)
    folder = written(tmp_path, files)
    for file in verilog(p):
        done = lint(folder, file)
        assert (done.returncode, done.stderr) == (0, ""), file


@pytest.mark.verify  # the self-test runs with the assertions; slang reads some in every run
@PARAMETERS
def test_verilator_reads_assertions(p, tmp_path):
    files = exported(p)
    done = lint(written(tmp_path, files), "t3.v", "--assert", "-DT3_ASSERT")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.verify
def test_verilator_reads_a_top_with_its_links(tmp_path):
    """A top with link endpoints has wires to the neighbours in place of the packet and credit
    ports."""
    files = with_links()
    folder = written(tmp_path, files)
    for file in ("gpu.v", "gpu_link_endpoint.v"):
        done = lint(folder, file)
        assert (done.returncode, done.stderr) == (0, ""), file
    manifest = json.loads(files["manifest.json"])
    assert LinkParameters(**manifest["link"]) == LINK
    entries = {entry["file"]: entry for entry in manifest["files"]}
    ports = {port["name"]: port for port in entries["gpu.v"]["ports"]}
    assert ports["channel__0__occupancy"]["description"] == "Entries of the DRAM queue."
    assert (
        ports["link__0__upstream__receive__payload"]["description"]
        == "Flits of the neighbour, always accepted."
    )
    assert not any("__link_" in name or "credit" in name for name in ports)
    flit = ports["link__0__upstream__receive__payload"]
    assert [field["name"] for field in flit["fields"]] == ["body", "crc", "first", "last"]
    width = re.search(
        r"^`define GPU_LINK_UPSTREAM_RECEIVE_BITS +(\d+)$", files["gpu_layouts.vh"], re.M
    )
    assert int(width[1]) == flit["width"]


@PARAMETERS
@pytest.mark.parametrize("standard", ["-g2001", "-g2012"])
def test_icarus(p, standard, tmp_path):
    icarus = needs("iverilog")
    files = exported(p)
    folder = written(tmp_path, files)
    for file in verilog(p):
        sources = [folder / file, *cells(folder)]
        done = run(icarus, standard, "-Wall", "-o", tmp_path / "out", *sources)
        assert (done.returncode, done.stderr) == (0, ""), file


@PARAMETERS
def test_yosys(p, tmp_path):
    """A distribution's Yosys, which may be old, reads the files: Debian 12 has 0.23."""
    yosys = needs("yosys")
    files = exported(p)
    folder = written(tmp_path, files)
    for file in verilog(p):
        top = file.removesuffix(".v")
        sources = " ".join(map(str, [folder / file, *cells(folder)]))
        script = f"read_verilog {sources}; hierarchy -check -top {top}; proc; check -assert"
        done = run(yosys, "-q", "-p", script)
        said = [line for line in done.stderr.splitlines() if line]
        assert (done.returncode, said) == (0, []), file


def slang(text):
    """Yield slang's warnings with their lines, of its default set and of "extra"."""
    compilation = pyslang.ast.Compilation()
    compilation.addSyntaxTree(pyslang.syntax.SyntaxTree.fromText(text))
    engine = pyslang.DiagnosticEngine(compilation.sourceManager)
    engine.setWarningOptions(["default", "extra"])
    lines = text.splitlines()
    return [
        (str(found.code), lines[compilation.sourceManager.getLineNumber(found.location) - 1])
        for found in compilation.getAllDiagnostics()
        if engine.getSeverity(found.code, found.location) != pyslang.DiagnosticSeverity.Ignored
    ]


def matters(warning):
    """Ignore truncations of dynamic part selects, which are shifts whose low bits are kept; all
    other warnings count.
    """
    code, line = warning
    return code != "DiagCode(WidthTruncate)" or not re.match(r"  assign \w+ = .* >> .*;$", line)


@PARAMETERS
def test_slang(p):
    files = exported(p)
    for file in verilog(p):
        text = "".join([files[file], *(files[f"{cell}.v"] for cell in CELLS)])
        assert [warning for warning in slang(text) if matters(warning)] == [], file


def test_linters_can_fail(tmp_path):
    """The linters report faults; otherwise their silence would prove nothing."""
    path = tmp_path / "bad.v"
    path.write_text(LATCH)
    written(tmp_path, exported(EXAMPLE))
    assert "LATCH" in verilate("--lint-only", "-Wall", tmp_path / "t3.vlt", path).stderr
    assert any(
        map(matters, slang("module bad(input [4:0] b, output [3:0] a); assign a = b; endmodule"))
    )
