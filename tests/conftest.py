"""Settings of all tests: cache folders, interrupts, progress without lines, skipped tests."""

import gc
import os
import signal
from collections import Counter
from pathlib import Path

# sysmodel reads this when it is imported.
os.environ["T3_CACHE_DIR"] = str(Path(__file__).parents[1] / "build" / "test-cache")

import pytest

from t3.report import progress

# A shell's background job ignores SIGINT, and so would every program that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Designs are many objects that live long; looking for garbage among them would take a twentieth of
# the time.
gc.set_threshold(100_000, 50, 50)


@pytest.fixture(autouse=True)
def no_progress_line(monkeypatch):
    """Commands print no line of progress, however slow the machine is."""
    monkeypatch.setattr(progress, "_FIRST_LINE_S", 600.0)


def pytest_terminal_summary(terminalreporter):
    """Print each reason for skipped tests once, with their number: it says how to have them run."""
    skipped = terminalreporter.getreports("skipped")
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    if reasons:
        terminalreporter.section("skipped tests")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}")
