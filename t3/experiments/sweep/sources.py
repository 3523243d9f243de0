"""Digest of the sources that determine a sweep's results."""

from pathlib import Path

import driver
import rtl
import sysmodel
from sysmodel.lib.cache import digest

__all__ = ["CODE"]


def _code() -> str:
    packages = [Path(one.__path__[0]) for one in (rtl, driver, sysmodel)]
    sources = [
        path
        for package in (*packages, Path(__file__).parent)
        for kind in ("*.py", "*.rdl", "*.cpp", "*.vlt")
        for path in package.rglob(kind)
    ]
    return digest([*sources, packages[-1] / "energy" / "constants.toml"])


# Computed at import, because sources may be edited while the process runs.
CODE = _code()
