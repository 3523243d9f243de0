"""Example of a memory controller: the exported top, used as its README describes."""

import re
import shlex
import sys

import pytest

from sysmodel.config.system import load_system
from t3.library.hardware import hardware_of
from tests.support.exports import EXAMPLE, exported, written
from tests.support.memory_controller import (
    BENCHES,
    EXAMPLE_FOLDER,
    RTL,
    icarus,
    sources,
    verilator,
)
from tests.support.verilog_tools import run, verilate

PASS = {
    "dram_controller_tb": r"PASS: \d+ requests, \d+ row hits, \d+ row misses, \d+ turns, "
    r"\d+ refreshes, \d+ clocks; longest wait \d+",
    "memory_controller_tb": r"PASS: 5 launches and an abort, \d+ reads beside them, \d+ clocks",
}


@pytest.fixture
def build(tmp_path):
    """Make a folder with the export and the example's sources."""
    return written(tmp_path, exported(EXAMPLE) | sources())


@pytest.mark.parametrize("bench", BENCHES)
@pytest.mark.parametrize("simulate", [icarus, pytest.param(verilator, marks=pytest.mark.verify)])
def test_benches_pass(simulate, bench, build):
    done = simulate(build, bench)
    assert done.returncode == 0, done.stdout
    assert re.search(f"^{PASS[bench]}$", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize(
    ("file", "right", "wrong", "problem"),
    [
        (
            "dram.v",
            "words[updated[head]] <= nmc_out__payload",
            "words[updated[head]] <= 0",
            "wrong value",
        ),
        (
            "software.v",
            "word[`T3_EPOCH_RESET_RESTART] = 1",
            "word[`T3_EPOCH_RESET_RESTART] = 0",
            "a register write was refused",
        ),
        pytest.param(
            "dram_controller.v",
            "[`T3_ISSUE_ACKS_OWNER] <= taken[`T3_DRAM_OWNER]",
            "[`T3_ISSUE_ACKS_OWNER] <= 0",
            "",
            marks=pytest.mark.verify,
        ),
        pytest.param(
            "dram_controller.v",
            "issue_acks__valid <= 1;",
            "issue_acks__valid <= 0;",
            "takes too long",
            marks=pytest.mark.verify,
        ),
    ],
)
def test_bench_finds_faults(file, right, wrong, problem, build):
    text = (build / file).read_text()
    assert right in text
    (build / file).write_text(text.replace(right, wrong))
    done = icarus(build, "memory_controller_tb")
    assert done.returncode != 0
    assert re.search(f"FAIL: .*{problem}", done.stdout), done.stdout


def test_controller_is_clean(build):
    """The hardware of the example passes the linter without warnings."""
    files = [build / file for file in RTL]
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
            given[word.removeprefix("--").replace("-", "_")] = int(following)
    assert hardware_of(load_system(), given) == EXAMPLE
    for line in PASS.values():
        assert re.search(f"^{line}$", text, re.MULTILINE)


def test_core_files(build):
    """FuseSoC finds both cores and resolves the benches with all their files."""
    (build / "memory_controller.core").write_text(
        (EXAMPLE_FOLDER / "memory_controller.core").read_text()
    )
    command = [sys.executable, "-m", "fusesoc.main", "--cores-root", build, "run", "--setup"]
    for core, target, expected in (
        ("::t3", "lint", ["t3.v", "t3_clock_gate.v", "t3.vlt"]),
        ("::t3", "sim", ["t3.v", "t3_clock_gate.v", "t3.vlt"]),
        ("::memory_controller", "sim", BENCHES["memory_controller_tb"]),
        ("::memory_controller", "sim_controller", BENCHES["dram_controller_tb"]),
    ):
        done = run(*command, "--target", target, core, cwd=build)
        assert done.returncode == 0, done.stderr
        folder = next((build / "build").glob(f"{core.strip(':')}_*/{target}-*"))
        listed = next(folder.glob("*.eda.yml")).read_text()
        assert all(f"/{file}" in listed for file in expected), (core, target)
