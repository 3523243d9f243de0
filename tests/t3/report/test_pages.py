"""Pages in HTML: their content, and that they load nothing else."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import expanded
from sysmodel.runs.timeline import Span, Timeline
from t3.report.run import run_page
from t3.report.schedule import positions
from t3.report.sweep import sweep_page
from tests.support.example_run import example_result


def figures(html):
    """Data of each figure, by its name."""
    pattern = r'Plotly\.newPlot\(\s*"([\w-]+)-figure",\s*(\[.*?\]),\s*\{"'
    return {name: json.loads(data) for name, data in re.findall(pattern, html, re.DOTALL)}


def outside(html):
    """Addresses that a browser would fetch; those in Plotly's script are of maps and its site."""
    return re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)', html)


def test_page_of_a_run():
    result = example_result()
    html = run_page(result)
    assert outside(html) == []
    assert f"<h1>{result.workload.title} on asplos24</h1>" in html
    for name in ("times", "traffic-over-time"):
        assert f'<h2 id="{name}">' in html
    bars = figures(html)["times"]
    assert {bar["name"] for bar in bars} >= {"GEMM", "all-gather, exposed"}
    assert bars[0]["x"] == list(result.configurations)


@pytest.fixture
def timeline():
    """Four GPUs whose link sends three chunks in a reduce-scatter, then three in an all-gather."""
    link = np.array([0.0] * 10 + [8.0] * 30 + [0.0] * 10 + [4.0] * 30)
    spans = [
        Span("stage 0", "GEMM", 0.0, 3000.0),
        Span("reduce-scatter", "Communication", 1000.0, 4000.0),
        Span("all-gather", "Communication", 5000.0, 8000.0),
    ]
    return Timeline(bucket_ns=100.0, series={"link (bytes/ns)": link}, spans=spans)


def schedules(name="ring"):
    operations = ("reduce-scatter", "all-gather")
    return {one: expanded(algorithm(name).schedule(one, 4)) for one in operations}


def test_chunks_move_as_the_link_moves_bytes(timeline):
    times = np.array([500.0, 1000.0, 1500.0, 2500.0, 4500.0, 6000.0, 8000.0])
    found = list(positions(timeline, schedules(), times))
    assert [place and place.phase for place in found] == [
        *(None, "reduce-scatter", "reduce-scatter", "reduce-scatter", None),
        *("all-gather", "all-gather"),
    ]
    shares = [(place.step, round(place.share, 6)) for place in found if place]
    assert shares == [(0, 0.0), (0, 0.5), (1, 0.5), (1, 0.0), (2, 1.0)]
    # Chunk x starts on GPU x - 1; in an all-gather every GPU starts with its own.
    assert chunks(found[1]) == ["1", "2", "3", "0"]
    assert chunks(found[3]) == ["2", "3", "0", "1"]
    assert chunks(found[5]) == ["1", "2", "3", "0"]


def chunks(place):
    """Chunk that each GPU sends, if each sends one."""
    return [one.chunk for one in sorted(place.moves)]


def test_in_a_ring_a_chunk_that_arrives_is_the_next_one_sent(timeline):
    """The GPU with the preceding number is the next to send a chunk that arrives."""
    steps = {}
    for place in positions(timeline, schedules(), np.linspace(1000, 4000, 31)):
        steps.setdefault(place.step, place.moves)
    for step in range(2):
        sent = {(one.sender, one.chunk) for one in steps[step + 1]}
        assert {(one.receiver, one.chunk) for one in steps[step]} == sent


def test_in_a_direct_exchange_every_gpu_sends_to_every_other_one_at_once(timeline):
    place = next(positions(timeline, schedules("direct"), np.array([2500.0])))
    assert place.step == 0 and place.share == 0.5
    pairs = {(one.sender, one.receiver) for one in place.moves}
    assert pairs == {(a, b) for a in range(4) for b in range(4) if a != b}
    assert all(one.chunk == str(one.receiver) for one in place.moves)


TABLE = pd.DataFrame(
    {
        "model": "T-NLG",
        "tp": 8,
        "link.bandwidth_gb_per_s": [75, 75, 150, 150],
        "configuration": ["sequential", "t3"] * 2,
        "speedup": [1.0, 1.2, 1.0, 1.3],
        "total_ns": [4e6, 3.3e6, 3e6, 2.3e6],
    }
)


def test_page_of_a_sweep():
    html = sweep_page("Links <fast & slow>", TABLE)
    assert outside(html) == []
    assert "<h1>Links &lt;fast &amp; slow&gt;</h1>" in html
    points = {trace["name"]: trace for trace in figures(html)["points"]}
    assert set(points) == {"sequential", "t3"}
    assert points["t3"]["x"] == [75, 150] and points["t3"]["y"] == [1.2, 1.3]
    assert "4 rows of 2 points." in html


def test_a_sweep_of_one_point():
    html = sweep_page("one", TABLE.head(1))
    assert figures(html)["points"][0]["x"] == ["T-NLG"]
