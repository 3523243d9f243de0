"""Settings of all tests: cache folders, interrupts, and progress without lines."""

import os
import signal
from pathlib import Path

# sysmodel reads this when it is imported.
os.environ["T3_CACHE_DIR"] = str(Path(__file__).parents[1] / "build" / "test-cache")

import pytest

from t3.report import progress

# A shell's background job ignores SIGINT, and so would every program that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_progress_line(monkeypatch):
    """Commands print no line of progress, however slow the machine is."""
    monkeypatch.setattr(progress, "_FIRST_LINE_S", 600.0)
