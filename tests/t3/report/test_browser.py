"""The pages in a browser: their scripts, their widths, and the contrast of their texts."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from sysmodel.runs.timeline import Span
from t3.report.run import run_page
from t3.report.sweep import sweep_page
from tests.support.browser import Browser
from tests.support.example_run import example_result

WIDTHS = (390, 800, 1280)
_QUICK = {("run", 390, "light"), ("run", 1280, "dark"), ("sweep", 390, "dark")}
_LEAST_CONTRAST = 4.5  # least contrast of WCAG AA


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def run_html():
    result = example_result()
    timelines = {}
    for name, timeline in result.timelines.items():
        gather = Span("all-gather", "Communication", 1.6e6, 2.0e6)
        spans = [
            *(
                replace(one, track="GEMM" if "GEMM" in one.track else one.track)
                for one in timeline.spans
            ),
            gather,
        ]
        kinds = [
            f"DRAM {phase} {way}" for phase in ("gemm", "rs", "ag") for way in ("read", "write")
        ]
        series = {f"{kind} (bytes/ns)": np.full(500, 60.0) for kind in kinds}
        timelines[name] = replace(timeline, series=timeline.series | series, spans=spans)
    return run_page(replace(result, timelines=timelines))


def sweep_html():
    points = [
        {
            "model": model,
            "tp": tp,
            "link.bandwidth_gb_per_s": rate,
            "configuration": name,
            "speedup": speedup + tp / 100,
            "total_ns": 4.2e9 / speedup,
            "dram_total_bytes": 1_234_567_890,
        }
        for model in ("T-NLG", "a-model-whose-name-is-too-long-for-the-axis-of-a-chart")
        for tp in (4, 8)
        for rate in (75, 150)
        for name, speedup in (("sequential", 1.0), ("t3-critical", 1.25))
    ]
    return sweep_page("A sweep", pd.DataFrame(points))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, html in (("run", run_html()), ("sweep", sweep_html())):
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in ("run", "sweep")}


def test_page_of_a_run(browser, pages):
    browser.show(pages["run"], width=1280)
    assert browser.messages == []
    for figure in ("times", "roofline", "energy", "traffic-over-time", "chunks-on-their-way"):
        drawn = f"document.querySelectorAll('#{figure}-figure .main-svg').length"
        assert browser.evaluate(drawn) > 0, figure
    texts = browser.evaluate("[...document.querySelectorAll('text')].map(one => one.textContent)")
    assert "GPU 7" in texts and "sequential" in texts and "reduce-scatter, step 1" in texts


def test_page_of_a_sweep(browser, pages):
    """The menus choose the measured column and the axis, and filter the points."""
    browser.show(pages["sweep"], width=1280)
    assert browser.messages == []
    count = "document.querySelectorAll('.point').length"
    assert browser.evaluate(count) == 16
    choose = (
        "(() => { const menu = [...document.querySelectorAll('.menus label')]"
        ".find(one => one.firstChild.data === NAME + ' ').lastChild;"
        " menu.selectedIndex = [...menu.options].findIndex(one => one.text === TEXT);"
        " menu.dispatchEvent(new Event('change')); })()"
    )
    for name, text in (("measured", "total (ms)"), ("axis", "tp"), ("tp", "8"), ("model", "T-NLG")):
        browser.evaluate(choose.replace("NAME", repr(name)).replace("TEXT", repr(text)))
    assert browser.evaluate(count) == 4
    chart = "document.querySelector('.js-plotly-plot')"
    traces = browser.evaluate(f"{chart}.data.map(one => [one.name, one.x, one.y])")
    assert traces == [
        ["sequential", [8, 8], [4200.0, 4200.0]],
        ["t3-critical", [8, 8], [3360.0, 3360.0]],
    ]
    titles = browser.evaluate(f"[{chart}.layout.xaxis.title.text, {chart}.layout.yaxis.title.text]")
    assert titles == ["tp", "total (ms)"]
    assert browser.messages == []


@pytest.mark.parametrize(
    ("name", "width", "style"),
    [
        pytest.param(*page, marks=() if page in _QUICK else pytest.mark.verify)
        for page in product(("run", "sweep"), WIDTHS, ("light", "dark"))
    ],
)
def test_nothing_is_cut_and_every_text_can_be_read(browser, pages, name, width, style):
    browser.show(pages[name], width=width, style=style)
    assert browser.evaluate("innerWidth") == width
    assert browser.measure("beyond") == [False]
    assert browser.measure("cut") == []
    assert browser.measure("overlapping") == []
    assert browser.measure("tall") == []
    contrasts = browser.measure("contrasts")
    assert len(contrasts) > 50
    assert {text: one for text, one in contrasts if one < _LEAST_CONTRAST} == {}
    dark = (
        browser.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    )
    assert dark == (style == "dark")


def test_the_measures_see_defects(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<body style='background: white'><p style='width: 3000px'>wide</p>"
        "<p style='color: #999'>pale</p>"
        "<div style='overflow-x: auto'><p style='width: 3000px'>boxed"
    )
    browser.show(page.as_uri(), width=390)
    wide, *elements = browser.measure("beyond")
    assert wide and elements == ["P  wide"]
    assert {text for text, one in browser.measure("contrasts") if one < _LEAST_CONTRAST} == {"pale"}
