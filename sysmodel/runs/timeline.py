"""Timelines of a run, in the trace format that Perfetto and Chrome open."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

__all__ = ["MOST_BUCKETS", "MOST_SPANS", "Flow", "Span", "Timeline", "joined", "trace"]

MOST_BUCKETS = 2048
MOST_SPANS = 4096
_INSIDE_NS = 0.01


@dataclass(frozen=True)
class Span:
    """Interval with a name: a GEMM stage, the reduce-scatter, a DMA burst.

    ``activity`` is the activity of which it is a part, or empty.
    """

    name: str
    track: str
    start_ns: float
    end_ns: float
    activity: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.start_ns <= self.end_ns < float("inf"):
            raise ValueError(
                f"a span must have 0 <= start_ns <= end_ns, not {self.start_ns!r}, {self.end_ns!r}"
            )


@dataclass(frozen=True)
class Flow:
    """Arrow from the end of one span to the start of another that follows from it."""

    name: str
    cause: Span
    effect: Span


@dataclass(frozen=True)
class Timeline:
    """Course of one configuration, in a bounded number of samples and spans.

    Parameters
    ----------
    bucket_ns : float
        Time that one sample covers.
    series : dict
        Samples by name; the name ends in the unit, as ``"link (bytes/ns)"``.
    spans : list of Span
        Spans in any order.
    flows : list of Flow
        Between spans of ``spans``.
    first_cycle : int
        Cycle of the simulation at which the timeline begins, as ``t3 run --waves`` counts them.
    link_gb_per_s : float or None
        Line rate at which the GPU can send; None for that of the system's port.

    Raises
    ------
    ValueError
        No or too many samples or spans, samples that are not finite, or a flow between spans of
        another timeline.
    """

    bucket_ns: float
    series: dict[str, np.ndarray] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    first_cycle: int = 0
    link_gb_per_s: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.bucket_ns < float("inf"):
            raise ValueError(f"bucket_ns must be positive, not {self.bucket_ns!r}")
        if len(self.spans) > MOST_SPANS:
            raise ValueError(f"spans must be at most {MOST_SPANS}, not {len(self.spans)}")
        spans = set(self.spans)
        for flow in self.flows:
            if not {flow.cause, flow.effect} <= spans:
                raise ValueError(f"a flow must be between spans of the timeline, not {flow!r}")
        for name, samples in self.series.items():
            if np.ndim(samples) != 1 or len(samples) > MOST_BUCKETS:
                raise ValueError(
                    f"{name} must be at most {MOST_BUCKETS} samples, not {np.shape(samples)}"
                )
            if not np.all(np.isfinite(samples)):
                raise ValueError(f"{name} must be finite")


def joined(parts: Sequence[tuple[Timeline, float]]) -> Timeline:
    """Join timelines that follow each other; each comes with the time in ns that it lasts.

    The samples are those of the first ones' series, in equal buckets over the whole time, in which
    the sums of all samples stay.
    """
    whole_ns = sum(ns for _, ns in parts)
    bucket_ns = max([one.bucket_ns for one, _ in parts] + [whole_ns / MOST_BUCKETS])
    edges = np.arange(0.0, whole_ns + bucket_ns, bucket_ns)[: MOST_BUCKETS + 1]
    first = parts[0][0]
    sums = {name: np.zeros(len(edges) - 1) for name in first.series}
    spans: list[Span] = []
    flows: list[Flow] = []
    start_ns = 0.0
    for one, ns in parts:
        for name in sums.keys() & one.series.keys():
            samples = one.series[name]
            at = start_ns + one.bucket_ns * np.arange(len(samples) + 1)
            before = np.concatenate([[0.0], np.cumsum(samples) * one.bucket_ns])
            sums[name] += np.diff(np.interp(edges, at, before))
        moved = {span: _later(span, start_ns) for span in one.spans}
        spans += moved.values()
        flows += [Flow(flow.name, moved[flow.cause], moved[flow.effect]) for flow in one.flows]
        start_ns += ns
    series = {name: moved_sum / bucket_ns for name, moved_sum in sums.items()}
    return Timeline(
        bucket_ns=bucket_ns,
        series=series,
        spans=spans,
        flows=flows,
        first_cycle=first.first_cycle,
    )


def _later(span: Span, ns: float) -> Span:
    return replace(span, start_ns=span.start_ns + ns, end_ns=span.end_ns + ns)


def trace(timelines: dict[str, Timeline], title: str) -> dict[str, Any]:
    """Trace with a process for each configuration, a thread for each track of spans and a counter
    for each series. Times are in microseconds, as the format demands."""
    events: list[dict[str, Any]] = []
    numbers = count(1)  # numbers of flows
    for process, (name, timeline) in enumerate(timelines.items(), start=1):
        events.append(_named("process_name", name, process, 0))
        events.append(
            {
                "ph": "M",
                "name": "process_sort_index",
                "pid": process,
                "tid": 0,
                "args": {"sort_index": process},
            }
        )
        threads: dict[Span, int] = {}
        events.extend(_spans(timeline, process, threads))
        for flow in timeline.flows:
            events.extend(_arrow(flow, next(numbers), process, threads))
        events.extend(_counters(timeline, process))
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"title": title},
    }


def _named(kind: str, name: str, process: int, thread: int) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _spans(
    timeline: Timeline, process: int, thread_of: dict[Span, int]
) -> Iterator[dict[str, Any]]:
    """Spans in threads. Spans of one thread must not overlap, so a track with overlapping spans
    gets several threads. ``thread_of`` collects the thread of each span.
    """
    ends: dict[str, list[float]] = {}
    threads: dict[tuple[str, int], int] = {}
    for span in sorted(timeline.spans, key=lambda span: (span.start_ns, span.end_ns)):
        lanes = ends.setdefault(span.track, [])
        lane = next((i for i, end in enumerate(lanes) if end <= span.start_ns), len(lanes))
        lanes[lane:] = [span.end_ns, *lanes[lane + 1 :]]
        key = (span.track, lane)
        if key not in threads:
            threads[key] = len(threads) + 1
            name = f"{span.track} {lane + 1}" if lane else span.track
            yield _named("thread_name", name, process, threads[key])
        thread_of[span] = threads[key]
        yield {
            "ph": "X",
            "name": span.name,
            "cat": span.track,
            "pid": process,
            "tid": threads[key],
            "ts": span.start_ns / 1e3,
            "dur": (span.end_ns - span.start_ns) / 1e3,
        }


def _arrow(
    flow: Flow, number: int, process: int, threads: dict[Span, int]
) -> Iterator[dict[str, Any]]:
    """Two ends of an arrow, each inside its span: an end exactly at the end of a span would bind to
    the next span.
    """
    shared = {"name": flow.name, "cat": "flow", "id": number, "pid": process}
    middle = (flow.cause.start_ns + flow.cause.end_ns) / 2
    start = max(middle, flow.cause.end_ns - _INSIDE_NS)
    yield {**shared, "ph": "s", "tid": threads[flow.cause], "ts": start / 1e3}
    # "e" binds the arrow to the surrounding span, not to the next span.
    end = max(flow.effect.start_ns, start)
    yield {**shared, "ph": "f", "bp": "e", "tid": threads[flow.effect], "ts": end / 1e3}


def _counters(timeline: Timeline, process: int) -> Iterator[dict[str, Any]]:
    for name, samples in timeline.series.items():
        previous = None
        for bucket, sample in enumerate(np.asarray(samples, float).tolist()):
            if sample != previous:  # a counter keeps its value until the next event
                yield _counter(name, process, bucket * timeline.bucket_ns, sample)
            previous = sample
        if previous:
            yield _counter(name, process, len(samples) * timeline.bucket_ns, 0.0)


def _counter(name: str, process: int, time_ns: float, value: float) -> dict[str, Any]:
    return {
        "ph": "C",
        "name": name,
        "pid": process,
        "tid": 0,
        "ts": time_ns / 1e3,
        "args": {"value": value},
    }
