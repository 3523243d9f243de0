"""Tools that come as WebAssembly in wheels."""

import subprocess
import sys
from pathlib import Path

__all__ = ["ToolError", "run_tool"]


class ToolError(Exception):
    """A tool is missing or failed; its last line says why."""


def run_tool(package: str, tool: str, folder: Path, *arguments: str) -> None:
    """Run a tool of a wheel in a folder, and wait for it.

    Raises
    ------
    ToolError
        It failed.
    """
    code = f"import {package} as wheel; wheel._run_{tool}_argv()"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise ToolError((lines or ["no message"])[-1])
