"""Verdicts of ``make lint`` on the faults that it must detect."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from function_length import LIMIT, long_functions

ROOT = Path(__file__).parents[2]
PACKAGES = ("rtl", "sysmodel", "t3", "tb")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the packages, to spoil."""
    tree = tmp_path_factory.mktemp("tree")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


def lint_imports(tree):
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, ''); {program}", "--no-cache"]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True)


def test_imports_run_one_way(tree):
    done = lint_imports(tree)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("rtl/lib/queue.py", "import sysmodel.lib.errors", "rtl is not allowed to import sysmodel"),
        ("sysmodel/lib/bits.py", "import t3.cli.main", "sysmodel is not allowed to import t3"),
        ("sysmodel/gpu/l2.py", "import sysmodel.runs.result", "import sysmodel.runs"),
        (
            "sysmodel/gpu/geometry/chunks.py",
            "import sysmodel.lib.neighbours",
            "sysmodel.gpu.geometry is not allowed to import sysmodel.lib.neighbours",
        ),
        ("sysmodel/gpu/geometry/chunks.py", "import sysmodel.gpu.geometry.placement", "placement"),
        ("rtl/lib/queue.py", "import rtl.channel.channel", "rtl.lib is not allowed to import"),
        ("t3/silicon/area.py", "import t3.cli.main", "t3.silicon is not allowed to import t3.cli"),
    ],
)
def test_an_import_that_runs_upwards_is_named(tree, file, line, complaint):
    spoilt = tree / file
    right = spoilt.read_text()
    spoilt.write_text(f"{right}\n{line}  # noqa\n")
    try:
        done = lint_imports(tree)
    finally:
        spoilt.write_text(right)
    assert done.returncode == 1
    assert complaint in done.stdout


def function_of(lines, reason=""):
    body = "".join(f"    x = {i}\n" for i in range(lines - 1))
    return f"{reason}def f():\n{body}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (function_of(LIMIT), 0),
        (function_of(LIMIT + 1), 1),
        (function_of(LIMIT + 1, "# long: one table, in one place\n"), 0),
        (function_of(LIMIT + 1, "# long:\n"), 1),
    ],
)
def test_long_functions_need_a_reason(tmp_path, text, found):
    file = tmp_path / "file.py"
    file.write_text(text)
    complaints = list(long_functions(file))
    assert len(complaints) == found
    assert all(f"f has {LIMIT + 1} lines; allowed: {LIMIT}" in line for line in complaints)
