"""Wheel in an environment of its own, outside the checkout: all commands that need no checkout
work.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_SMALL = ("--m", "1024", "--n", "768", "--k", "256", "--tp", "4")

pytestmark = pytest.mark.verify


def _run(*command: object, cwd: Path) -> str:
    """A command that knows nothing of this checkout."""
    ours = ("PYTHON", "T3_", "VIRTUAL_ENV")
    environment = {name: os.environ[name] for name in os.environ if not name.startswith(ours)}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment | {"T3_CACHE_DIR": str(cwd / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Folder in whose `bin` the command is."""
    folder = tmp_path_factory.mktemp("wheel")
    sources = folder / "sources"
    left_out = shutil.ignore_patterns(".*", "build", "results", "__pycache__", "*.egg-info")
    shutil.copytree(_ROOT, sources, ignore=left_out)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    _run(*pip, "wheel", "--no-deps", "--wheel-dir", folder / "dist", sources, cwd=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    shutil.rmtree(sources)
    _run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    pip = (folder / "venv/bin/python", *pip[1:])
    _run(*pip, "install", "--constraint", _ROOT / "constraints.txt", wheel, cwd=folder)
    return folder


def test_nothing_of_it_is_the_checkouts(installed):
    packages = "driver, rtl, sysmodel, t3"
    program = f"import {packages}; print(*(one.__file__ for one in ({packages})))"
    printed = _run(installed / "venv/bin/python", "-c", program, cwd=installed)
    assert all(Path(file).is_relative_to(installed) for file in printed.split())


def test_it_brings_no_tests(installed):
    left_out = ("tb", "tests", "verification")
    program = f"import importlib.util as u; print([u.find_spec(name) for name in {left_out}])"
    printed = _run(installed / "venv/bin/python", "-c", program, cwd=installed)
    assert printed == "[None, None, None]\n"


@pytest.mark.parametrize("engine", ["golden", "rtl"])
def test_run_and_check(installed, engine):
    command = installed / "venv/bin/t3"
    _run(command, "run", *_SMALL, "--engine", engine, "--out", engine, cwd=installed)
    result = json.loads((installed / engine / "result.json").read_text())
    assert result["configurations"]["t3"]["speedup"] > 0
    small = ("--gpus", "2", "--m", "256", "--n", "128", "--k", "64")
    _run(command, "check", *small, "--engine", engine, cwd=installed)


def test_export(installed):
    _run(installed / "venv/bin/t3", "export", "--channels", "1", "--out", "verilog", cwd=installed)
    for file in ("manifest.json", "t3.h", "t3.c"):
        assert (installed / "verilog" / file).exists()
