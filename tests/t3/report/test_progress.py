"""Progress on standard error during a long job."""

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import time
from t3.report.progress import shown_progress
with shown_progress() as report:
    report("waiting", 0.25)
    time.sleep(1.8)
"""


@pytest.mark.parametrize("colours", [{}, {"FORCE_COLOR": "1"}, {"CLICOLOR_FORCE": "1"}])
def test_lines_where_there_is_no_terminal(colours):
    """Plain lines appear also if colours are requested, as the kernel of a notebook does."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=os.environ | colours, capture_output=True, text=True
    )
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "waiting, 25%, " in line and line.endswith(" s")
    assert "\x1b[?25l" not in done.stderr
