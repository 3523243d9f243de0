"""The Makefile's set-up, on a machine without a Python that the project supports."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_SAYS = re.compile(
    r"T3 needs Python 3\.\d+ or later, and (\S+) is none; choose one: make PYTHON=\S+"
)


@pytest.fixture
def tree(tmp_path):
    """A folder with the files that the set-up reads."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(_ROOT / name, tmp_path)
    return tmp_path


@pytest.mark.parametrize("program", ["./old", "./no-such-python"])
def test_an_unsupported_python_gets_one_sentence(tree, program):
    old = tree / "old"
    old.write_text("#!/bin/sh\nexit 1\n")  # its version is less than the least one
    old.chmod(0o755)
    # Another make may have started the tests.
    environment = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "run", f"PYTHON={program}"],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
    )
    sentence, last = done.stderr.splitlines()
    assert _SAYS.fullmatch(sentence)[1] == program
    assert done.returncode and last.startswith("make: ***")
    assert not (tree / ".venv").exists()
