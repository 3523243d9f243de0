"""Programs that a machine may lack, whose tests are skipped there."""

import shutil

import pytest

__all__ = ["installed", "needs"]

# Debian's package of each program, by the names under which distributions install the program.
_PACKAGES = {
    ("iverilog",): "iverilog",
    ("yosys",): "yosys",
    ("chromium", "chromium-browser", "google-chrome"): "chromium",
    ("sta",): "opensta",
}


def installed() -> list[str]:
    """List the packages whose programs this machine has."""
    return [package for names, package in _PACKAGES.items() if any(map(shutil.which, names))]


def needs(program: str) -> str:
    """Return the path of an optional program; skip the test on a machine without it."""
    names = next(names for names in _PACKAGES if program in names)
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip(
            f"{program} is not installed; Debian, Ubuntu: apt-get install {_PACKAGES[names]}"
        )
    return path
