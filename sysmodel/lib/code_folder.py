"""Folder of a module's compiled functions, for each state of the sources.

Numba recompiles a cached function when the function's own file changes, but not when a file changes
whose functions and constants it includes. The folder therefore depends on all sources that the
module imports.
"""

import contextlib
import functools
import os
import shutil
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from .cache import cache_folder, digest, report_not_stored
from .import_closure import import_closure

__all__ = ["KEPT_FOLDERS", "code_folder"]

KEPT_FOLDERS = 4  # of a module


def code_folder(module: str) -> Path:
    """Make the folder of a module's compiled functions, and remove those unused for longest.

    Raises
    ------
    ModuleNotFoundError
        The module has no file.
    """
    return _made(module, cache_folder() / "numba")


@functools.cache
def _made(module: str, parent: Path) -> Path:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {module!r}")
    sources = import_closure(Path(spec.origin), module)
    folder = parent / f"{module}-{digest(sources, version('numba'))}"
    if not folder.exists():
        report_not_stored()
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        by_age = sorted(
            parent.glob(f"{module}-*"), key=lambda path: path.stat().st_mtime, reverse=True
        )
        for stale in by_age[KEPT_FOLDERS:]:
            shutil.rmtree(stale, ignore_errors=True)
    return folder
