"""Bounds of phases, for runs with made-up rates and times."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.machine.wire import WIRE_STATES
from sysmodel.runs.bounds import bounds
from sysmodel.runs.configuration_result import GemmTimes
from sysmodel.runs.options import RunOptions
from sysmodel.runs.samples import WIRE_SERIES
from sysmodel.runs.slots import SlotTimes
from sysmodel.runs.timeline import Span, Timeline
from tests.support.example_run import example_result

NAME = "t3"
BUCKET_NS = 1000.0
# asplos24's memory gives 1024 B/ns, its link 150.
MEMORY, LINK = 1024.0, 150.0


def timeline(*parts, rs_start=None):
    """Phases one after the other: name, buckets, shares of memory and link.

    The link has a packet just while it sends, else it waits for the memory.
    """
    spans, memory, link, now = [], [], [], 0.0
    for name, buckets, memory_share, link_share in parts:
        track = "GEMM" if name == "stage 0" else "Communication"
        activity = {"stage 0": "gemm", "reduce-scatter": "rs", "all-gather": "ag"}[name]
        end = now + buckets * BUCKET_NS
        start = rs_start if name == "reduce-scatter" and rs_start is not None else now
        spans.append(Span(name, track, start, end, activity))
        memory += [memory_share * MEMORY] * buckets
        link += [link_share * LINK] * buckets
        now = end
    # Reads and writes together are the memory's rate.
    series = {
        "DRAM gemm read (bytes/ns)": np.array(memory) / 4,
        "DRAM rs write (bytes/ns)": np.array(memory) * 3 / 4,
        "link (bytes/ns)": np.array(link),
        "DRAM queue, channel 0 (entries)": np.full(len(memory), 1e6),
        **{WIRE_SERIES.format(what): np.zeros(len(memory)) for what in WIRE_STATES},
        WIRE_SERIES.format("link"): np.array(link) / LINK,
        WIRE_SERIES.format("memory"): 1 - np.array(link) / LINK,
    }
    return Timeline(bucket_ns=BUCKET_NS, series=series, spans=spans)


SLOTS = SlotTimes(pipes_ns=60.0, memory_ns=20.0, l2_ns=10.0, empty_ns=10.0)


def bounds_of(line, *, efficiency=0.8, slots=SLOTS, **changes):
    result = example_result(options=RunOptions(configurations=(NAME,)))
    (one,) = result.configurations.values()
    one = replace(one, gemms={"gemm": GemmTimes(slots=slots, **changes)})
    result = replace(
        result,
        configurations={NAME: one},
        timelines={NAME: line},
        efficiencies={"gemm": efficiency},
    )
    return {bound.phase: bound for bound in bounds(result)}


def test_shares_of_each_phase():
    found = bounds_of(
        timeline(
            ("stage 0", 20, 0.5, 0.95),
            ("reduce-scatter", 10, 0.3, 0.9),
            ("all-gather", 5, 0.8, 0.2),
        )
    )
    # asplos24's pipes can issue in 94 % of the cycles.
    assert found["GEMM"].busy == pytest.approx({"pipes": 0.8 / 0.94, "memory": 0.5, "link": 0.95})
    assert found["RS"].busy == pytest.approx({"memory": 0.3, "link": 0.9})
    assert found["AG"].busy == pytest.approx({"memory": 0.8, "link": 0.2})
    assert found["AG"].link_time == pytest.approx(
        dict.fromkeys(WIRE_STATES, 0.0) | {"link": 0.2, "memory": 0.8}
    )
    assert {phase: one.by for phase, one in found.items()} == {
        "GEMM": "pipes",
        "RS": "link",
        "AG": "memory",
    }


def test_times_between_samples():
    line = timeline(("stage 0", 4, 1.0, 0.0), ("all-gather", 4, 0.0, 1.0))
    spans = [
        Span("stage 0", "GEMM", 0.0, 4500.0, "gemm"),
        Span("all-gather", "C", 4500.0, 8000.0, "ag"),
    ]
    found = bounds_of(replace(line, spans=spans))
    assert found["GEMM"].busy["memory"] == pytest.approx(4 / 4.5)
    assert found["AG"].busy["link"] == pytest.approx(1.0)


def test_a_reduce_scatter_that_ends_with_its_gemm():
    line = timeline(("stage 0", 20, 0.5, 0.8), ("reduce-scatter", 1, 0.1, 0.1), rs_start=5000.0)
    assert bounds_of(line)["RS"].by == "GEMM"
    # An RS that outlasts the GEMM is bound by the busiest part after the GEMM.
    late = timeline(("stage 0", 20, 0.5, 0.1), ("reduce-scatter", 10, 0.2, 0.9), rs_start=5000.0)
    found = bounds_of(late)["RS"]
    assert (found.by, found.start_ns, found.busy["link"]) == ("link", 20_000.0, pytest.approx(0.9))


@pytest.mark.parametrize(
    ("changes", "by"),
    [
        ({}, "pipes"),
        ({"waiting": 1.2}, "flow control"),
        ({"contention": 1.2}, "contention"),
        ({"waiting": 1.06, "contention": 1.2}, "contention"),
        ({"link": 1.2}, "link"),
        ({"link": 1.06, "contention": 1.2}, "contention"),
        ({"link": 1.3, "contention": 1.2, "waiting": 1.25}, "link"),
        ({"link": 1.04, "contention": 1.09}, "pipes"),
        ({"slots": SlotTimes(pipes_ns=20.0, memory_ns=50.0, empty_ns=30.0)}, "memory"),
        ({"slots": SlotTimes(pipes_ns=20.0, link_ns=50.0, empty_ns=30.0)}, "link"),
        ({"slots": SlotTimes(pipes_ns=20.0, l2_ns=50.0, empty_ns=30.0)}, "l2"),
        ({"slots": SlotTimes(pipes_ns=20.0, stores_ns=50.0, launch_ns=30.0)}, "stores"),
        ({"slots": SlotTimes(pipes_ns=20.0, empty_ns=80.0)}, "empty"),
        ({"slots": SlotTimes(memory_ns=80.0), "waiting": 1.2}, "flow control"),
    ],
)
def test_causes_of_a_longer_gemm(changes, by):
    assert bounds_of(timeline(("stage 0", 10, 0.2, 0.0)), **changes)["GEMM"].by == by


def test_a_configuration_without_a_timeline_has_none():
    result = example_result(options=RunOptions(configurations=("ideal-overlap",)))
    assert bounds(result) == []
    assert result.as_dict()["bounds"] == []
