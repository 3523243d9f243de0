"""The pages in a browser without a screen, if there is one."""

import shutil
import subprocess
from dataclasses import replace

import pandas as pd
import pytest

from sysmodel.runs.timeline import Span
from t3.report.run import run_page
from t3.report.sweep import sweep_page
from tests.support.example_run import example_result

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture
def shown(tmp_path):
    """Content of a page after its scripts have run, and the messages of the scripts."""
    browser = next(filter(None, map(shutil.which, _NAMES)), None)
    if browser is None:
        pytest.skip("no Chromium is installed: the pages are NOT looked at")

    def show(html):
        file = tmp_path / "page.html"
        file.write_text(html)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000"]
        options += ["--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}"]
        done = subprocess.run(
            [browser, *options, "--dump-dom", file.as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return show


def test_page_of_a_run(shown):
    result = example_result()
    timelines = {}
    for name, timeline in result.timelines.items():
        gather = Span("all-gather", "communication", 1.6e6, 2.0e6)
        timelines[name] = replace(timeline, spans=[*timeline.spans, gather])
    content, complaints = shown(run_page(replace(result, timelines=timelines)))
    assert complaints == []
    for figure in ("times", "traffic-over-time", "ring"):
        after = content.partition(f'id="{figure}-figure"')[2]
        assert 'class="main-svg"' in after.partition("</figure>")[0], figure
    assert ">GPU 7<" in content and ">sequential<" in content


def test_page_of_a_sweep(shown):
    table = pd.DataFrame(
        {
            "tp": [4, 8, 4, 8],
            "configuration": ["sequential", "sequential", "t3", "t3"],
            "speedup": [1.0, 1.0, 1.2, 1.3],
        }
    )
    content, complaints = shown(sweep_page("A sweep", table))
    assert complaints == []
    assert content.count('class="point"') == 4
