"""Timelines: bounds, and the rules of the trace format."""

import json

import numpy as np
import pytest

from sysmodel.runs.timeline import MOST_BUCKETS, MOST_SPANS, Flow, Span, Timeline, trace
from tests.support.example_run import example_result, example_timeline


def _events(timelines, kind):
    return [event for event in trace(timelines, "x")["traceEvents"] if event["ph"] == kind]


def test_a_process_for_each_configuration():
    timelines = example_result().timelines
    names = [
        event["args"]["name"]
        for event in _events(timelines, "M")
        if event["name"] == "process_name"
    ]
    assert names == ["sequential", "t3", "t3-mca", "t3-critical"]
    assert {event["pid"] for event in _events(timelines, "C")} == {1, 2, 3, 4}


def test_spans_are_in_microseconds():
    spans = _events({"t3": example_timeline()}, "X")
    stage = next(span for span in spans if span["name"] == "stage 2")
    assert (stage["ts"], stage["dur"]) == (85.0, 85.0)


def test_spans_of_a_thread_do_not_overlap():
    random = np.random.default_rng(7)
    print("seed 7")
    starts = random.uniform(0, 1000, 200)
    spans = [
        Span(str(i), f"track {i % 3}", start, start + random.uniform(0, 60))
        for i, start in enumerate(starts)
    ]
    timeline = Timeline(1.0, spans=spans)
    threads = {}
    for event in _events({"t3": timeline}, "X"):
        threads.setdefault(event["tid"], []).append(event)
    assert sum(map(len, threads.values())) == len(spans)
    assert len(threads) > 3
    for events in threads.values():
        assert len({event["cat"] for event in events}) == 1
        for before, after in zip(events, events[1:], strict=False):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-9
    named = [e["tid"] for e in _events({"t3": timeline}, "M") if e["name"] == "thread_name"]
    assert sorted(named) == sorted(threads)


def test_counters_have_only_changes():
    timeline = Timeline(2000.0, series={"link (bytes/ns)": np.array([0.0, 5.0, 5.0, 1.0])})
    counters = [(event["ts"], event["args"]["value"]) for event in _events({"t3": timeline}, "C")]
    assert counters == [(0.0, 0.0), (2.0, 5.0), (6.0, 1.0), (8.0, 0.0)]


def test_a_flow_is_an_arrow_from_inside_a_span_into_another():
    cause, effect = Span("sent", "a", 100.0, 300.0), Span("arrives", "b", 700.0, 900.0)
    timeline = Timeline(1.0, spans=[cause, effect], flows=[Flow("link", cause, effect)])
    spans = {event["name"]: event for event in _events({"t3": timeline}, "X")}
    (start,), (end,) = (_events({"t3": timeline}, kind) for kind in "sf")
    assert (start["id"], start["name"], start["cat"]) == (end["id"], end["name"], end["cat"])
    assert start["tid"] == spans["sent"]["tid"] != end["tid"] == spans["arrives"]["tid"]
    assert 0.1 < start["ts"] < 0.3
    assert end["ts"] == 0.7
    assert end["bp"] == "e"


def test_flows_of_two_configurations_have_numbers_of_their_own():
    cause, effect = Span("sent", "a", 0.0, 1.0), Span("arrives", "b", 2.0, 3.0)
    timeline = Timeline(1.0, spans=[cause, effect], flows=[Flow("link", cause, effect)])
    starts = _events({"t3": timeline, "t3-mca": timeline}, "s")
    assert len({event["id"] for event in starts}) == 2


def test_a_flow_is_between_spans_of_the_timeline():
    cause, effect = Span("sent", "a", 0.0, 1.0), Span("arrives", "b", 2.0, 3.0)
    with pytest.raises(ValueError, match="a flow must be between spans"):
        Timeline(1.0, spans=[cause], flows=[Flow("link", cause, effect)])


def test_the_trace_is_json():
    data = trace(example_result().timelines, "title")
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["otherData"]["title"] == "title"


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"bucket_ns": 0.0}, "bucket_ns must be positive"),
        ({"bucket_ns": float("nan")}, "bucket_ns must be positive"),
        ({"bucket_ns": 1.0, "series": {"a": np.zeros(MOST_BUCKETS + 1)}}, "a must be at most 2048"),
        ({"bucket_ns": 1.0, "series": {"a": np.zeros((2, 2))}}, "a must be at most"),
        ({"bucket_ns": 1.0, "series": {"a": np.array([np.nan])}}, "a must be finite"),
        (
            {"bucket_ns": 1.0, "spans": [Span("a", "b", 0.0, 1.0)] * (MOST_SPANS + 1)},
            "spans must be at most 4096",
        ),
    ],
)
def test_bounds(arguments, message):
    with pytest.raises(ValueError, match=message):
        Timeline(**arguments)


@pytest.mark.parametrize("start, end", [(-1.0, 1.0), (2.0, 1.0), (0.0, float("inf"))])
def test_spans_that_are_none(start, end):
    with pytest.raises(ValueError, match="a span must have"):
        Span("a", "b", start, end)
