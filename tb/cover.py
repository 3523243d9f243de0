"""Functional cover points: counts how often a bench reaches each hazard that it targets."""

import atexit
import json
import os
from pathlib import Path

__all__ = ["BENCH", "COVER_DIR", "COVER_FILE", "cover", "expect"]

# Variables by which `tb.runner` passes the bench's name, and the directory of its hits.
BENCH, COVER_DIR = "T3_BENCH", "T3_COVER_DIR"
COVER_FILE = "cover.json"

_hits: dict[str, int] = {}


def expect(*names: str) -> None:
    """Declare points, so that a point that is never hit is listed with 0 hits."""
    for name in names:
        _hits.setdefault(name, 0)


def cover(name: str, happened: object = True) -> None:
    """Count a hit of a point if ``happened`` is true.

    Raises
    ------
    KeyError
        If the point is not declared.
    """
    _hits[name] += bool(happened)


@atexit.register
def _dump() -> None:
    directory = os.environ.get(COVER_DIR)
    if directory and _hits:
        path = Path(directory) / COVER_FILE
        path.write_text(json.dumps({os.environ[BENCH]: _hits}, indent=2) + "\n")
