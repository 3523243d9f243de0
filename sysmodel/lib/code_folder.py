"""Cache of Numba's compiled functions, with one folder for each state of the sources.

Numba recompiles a cached function when the function's own file changes, but not when a file changes
whose functions and constants it includes. The folder therefore depends on all sources. Importing
this module sets the folder, for functions that are compiled with ``cache=True`` from then on.
"""

import contextlib
import os
import shutil
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from .cache import cache_folder, digest, report_not_stored

__all__ = ["use_numba_cache"]

KEPT_FOLDERS = 4


def _folder(package: str) -> Path:
    """Folder of a package, found without importing the package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {package!r}")
    return Path(spec.origin).parent


def _sources() -> list[Path]:
    packages = _folder("rtl"), _folder("driver"), _folder("sysmodel")
    return [
        path for package in packages for kind in ("*.py", "*.rdl") for path in package.rglob(kind)
    ]


def use_numba_cache() -> Path:
    """Set Numba's folder to that of these sources, and remove folders unused for longest."""
    parent = cache_folder() / "numba"
    folder = parent / digest(_sources(), version("numba"))
    if not folder.exists():
        report_not_stored()
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        by_age = sorted(parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for stale in by_age[KEPT_FOLDERS:]:
            shutil.rmtree(stale, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
    return folder


use_numba_cache()
