import os
import subprocess
import sys

import pytest

from sysmodel.lib import yowasp
from sysmodel.lib.errors import ToolError
from sysmodel.lib.yowasp import YOSYS, run_tool

PROGRAM = """
from pathlib import Path
from sysmodel.lib.yowasp import YOSYS, run_tool
print(run_tool(YOSYS, Path.cwd(), "-p", "log hello"))
"""


def test_output(tmp_path):
    assert "\nhello\n" in run_tool(YOSYS, tmp_path, "-p", "log hello")


def test_an_error_has_the_last_line(tmp_path):
    with pytest.raises(ToolError, match="^ERROR: No such command: walk "):
        run_tool(YOSYS, tmp_path, "-q", "-p", "walk")


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    def denied(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(yowasp, "locked", denied)
    yowasp.compile_tool.cache_clear()
    assert "hello" in run_tool(YOSYS, tmp_path, "-p", "log hello")


@pytest.mark.verify
def test_first_runs_side_by_side(tmp_path):
    """One run compiles the tool while the others wait."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"YOWASP_CACHE_DIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    printed = [one.communicate()[0] for one in started]
    assert [one.returncode for one in started] == [0, 0, 0]
    assert all("\nhello\n" in text for text in printed)
    assert not any("Preparing to run" in text for text in printed)
