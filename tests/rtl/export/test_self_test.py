"""The bench that comes with an export, and its page."""

import re

import pytest

from tests.support.exports import EXAMPLE, TWO_CONTEXTS, cells, exported, with_links, written
from tests.support.optional_tools import needs
from tests.support.verilog_tools import run, verilated


def bench(folder, name="t3"):
    files = [folder / f"{name}.vlt", folder / f"{name}_test.sv", folder / f"{name}.v"]
    options = ["-Wno-fatal", "--assert", "-DT3_ASSERT", f"-I{folder}"]
    return verilated(folder, f"{name}_test", [*files, *cells(folder)], *options)


def icarus_bench(folder):
    files = [folder / "t3_test.sv", folder / "t3.v", *cells(folder)]
    options = ["-g2012", f"-I{folder}", "-s", "t3_test", "-o", folder / "bench"]
    built = run(needs("iverilog"), *options, *files)
    assert built.returncode == 0, built.stderr
    return run("vvp", folder / "bench")


@pytest.mark.parametrize(
    "simulated",
    [
        pytest.param(icarus_bench, id="icarus"),
        # Its build takes twenty seconds.
        pytest.param(bench, id="verilator", marks=pytest.mark.verify),
    ],
)
def test_passes(simulated, tmp_path):
    done = simulated(written(tmp_path, exported(EXAMPLE)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS: t3\n" in done.stdout


@pytest.mark.verify
def test_passes_with_links_and_with_other_resets(tmp_path):
    kinds = {"gpu": with_links()} | {
        reset: exported(TWO_CONTEXTS, "t3", reset=reset) for reset in ("asynchronous", "none")
    }
    for kind, files in kinds.items():
        (tmp_path / kind).mkdir()
        name = "gpu" if kind == "gpu" else "t3"
        done = bench(written(tmp_path / kind, files), name)
        assert f"PASS: {name}\n" in done.stdout, kind


@pytest.mark.verify
@pytest.mark.parametrize(
    ("pattern", "replacement", "problem"),
    [
        (f"32'd{0x54330001}", "32'd1", "the identification is wrong"),
        (
            r"\.dram__valid\(channel__0__dram__valid\)",
            ".dram__valid()",
            "the read does not reach the DRAM queue",
        ),
    ],
)
def test_fails_where_something_is_broken(tmp_path, pattern, replacement, problem):
    files = exported(EXAMPLE)
    broken, changes = re.subn(pattern, replacement, files["t3.v"])
    assert changes
    done = bench(written(tmp_path, files | {"t3.v": broken}))
    assert done.returncode != 0
    assert f"FAIL: {problem}" in done.stdout


def test_the_page_names_every_file():
    files = exported(EXAMPLE)
    page = files["README.md"]
    for file in files:
        named = f"`{file}`" in page or re.fullmatch(r"t3_\w+\.v", file)
        assert named or file == "README.md", file
    assert "for 1 memory channel, 2 contexts, with data" in page
    (command,) = re.findall(r"^\$ (.*)$", page, re.MULTILINE)
    assert f"//   $ {command}\n" in files["t3_test.sv"]
    assert all(word in files for word in command.split() if "." in word and word != "-std=c++20")
