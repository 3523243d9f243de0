"""Progress during a long job: lines on standard error, or one bar in a notebook."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from t3.report import progress

_PROGRAM = """
import time
from t3.report.progress import shown_progress
with shown_progress() as report:
    report("waiting", 0.25)
    time.sleep(1.8)
"""


@pytest.mark.parametrize(
    "colours",
    [
        {"FORCE_COLOR": "1"},
        *(pytest.param(one, marks=pytest.mark.verify) for one in ({}, {"CLICOLOR_FORCE": "1"})),
    ],
)
def test_lines_where_there_is_no_terminal(colours):
    """Plain lines appear also if colours are requested, as the kernel of a notebook does."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=os.environ | colours, capture_output=True, text=True
    )
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "waiting, 25%, " in line and line.endswith(" s")
    assert "\x1b[?25l" not in done.stderr


@pytest.mark.parametrize("share", [pytest.param(0.996, marks=pytest.mark.verify), 1.0])
def test_nothing_is_complete_before_its_end(share):
    program = _PROGRAM.replace("0.25", str(share))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "waiting, 99%, " in done.stderr


class _Kernel:
    """Shell of a notebook's kernel, which collects the outputs by their identity."""

    kernel = "a kernel"

    def __init__(self):
        self.shown = {}

    def get_ipython(self):
        return self

    def display(self, data, *, raw, display_id):
        assert raw and display_id
        self.shown[len(self.shown)] = [data]
        return SimpleNamespace(update=lambda data, raw: self.shown[0].append(data))


def test_a_notebook_has_one_bar_that_is_updated(monkeypatch, capsys):
    kernel = _Kernel()
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", kernel)
    monkeypatch.setattr(progress, "_UPDATE_S", 0.0)
    with progress.shown_progress() as report:
        report("t3: <AG>", 0.25)
    (outputs,) = kernel.shown.values()
    assert "Loading" in outputs[1]["text/plain"]
    assert outputs[2]["text/plain"] == "t3: <AG>, 25%, 0 s"
    assert 'value="0.250"' in outputs[2]["text/html"] and "&lt;AG&gt;" in outputs[2]["text/html"]
    assert set(outputs[-1].values()) == {""}
    assert capsys.readouterr() == ("", "")
