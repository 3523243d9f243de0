"""Axes of pictures and charts: tick labels, times the unit of the axis, are the values."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import expanded
from sysmodel.runs.timeline import Timeline
from t3.experiments.evaluation.figures.checks import draw_efficiency
from t3.experiments.validation import figures as validation_figures
from t3.report.bars import bars_chart, bars_picture
from t3.report.roofline import roofline_chart, roofline_of, roofline_picture
from t3.report.schedule import schedule_chart
from t3.report.sweep import sweep_chart
from t3.report.traffic import traffic_chart
from t3.report.units import unit_of
from t3.silicon import scaling_plot
from tests.support.example_run import example_result
from tests.support.example_study import example_study

SIZES = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
RATES = {"MFLOP/s": 1e-3, "GFLOP/s": 1.0, "TFLOP/s": 1e3, "PFLOP/s": 1e6}


def unit(label, units):
    """Size of the unit in the brackets of a label, in ns or GFLOP/s."""
    return units[re.search(r"\(([^()]+)\)$", label)[1]]


def labels(axis):
    """Position and label of each tick, major and minor, in the visible part of an axis."""
    low, high = sorted(axis.get_view_interval())
    locations = [*axis.get_majorticklocs(), *axis.get_minorticklocs()]
    texts = [*axis.get_ticklabels(), *axis.get_ticklabels(minor=True)]
    return {
        at: text.get_text()
        for at, text in zip(locations, texts, strict=True)
        if text.get_text() and low <= at <= high
    }


def number(text, axis):
    """Number that a reader reads at a tick."""
    power = re.fullmatch(r"\$\\mathdefault\{(?:([\d.]+)\\times)?(\d+)\^\{(.*)\}\}\$", text)
    if power:
        return float(power[1] or 1) * float(power[2]) ** float(power[3])
    read = float(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))
    offset = axis.get_offset_text().get_text()
    return read * float(offset) if offset else read


def check_axis(axis, most=12):
    """Check that at least two ticks have labels, and that every label is its tick's position."""
    shown = labels(axis)
    assert 2 <= len(shown) <= most, shown
    for at, text in shown.items():
        assert number(text, axis) == pytest.approx(at, rel=1e-6, abs=1e-9), shown


def draw(figure):
    FigureCanvasAgg(figure).draw()
    return figure.axes


def scaled_run(factor, speed=1.0):
    """Run whose times are longer by a factor, on a machine with a multiple of the speed."""
    result = example_result()
    configurations = {
        name: replace(
            one,
            ns={key: ns * factor for key, ns in one.ns.items()},
            **{key: getattr(one, key) * factor for key in vars(one) if key.endswith("_ns")},
        )
        for name, one in result.configurations.items()
    }
    timelines = {name: with_memory(one, factor) for name, one in result.timelines.items()}
    gpu = result.system.gpu
    system = result.system.model_copy(
        update={
            "gpu": gpu.model_copy(update={"clock_mhz": gpu.clock_mhz * speed}),
        }
    )
    return replace(result, configurations=configurations, timelines=timelines, system=system)


def with_memory(timeline, factor):
    spans = [
        replace(
            one,
            track="GEMM" if one.track == "GEMM stages" else one.track,
            start_ns=one.start_ns * factor,
            end_ns=one.end_ns * factor,
        )
        for one in timeline.spans
    ]
    series = timeline.series | {"DRAM gemm read (bytes/ns)": np.full(500, 400.0)}
    return Timeline(bucket_ns=timeline.bucket_ns * factor, series=series, spans=spans)


@pytest.mark.parametrize("factor", [1e-6, 1e-5, 1e-3, 0.05, 1.0, 40.0, 1e3, 1e6])
def test_bars_from_ns_to_hours(factor):
    result = scaled_run(factor)
    (axes,) = draw(bars_picture(result))
    check_axis(axes.yaxis)
    size = unit(axes.get_ylabel(), SIZES)
    drawn = max(bar.get_y() + bar.get_height() for bar in axes.patches)
    longest = max(one.total_ns for one in result.configurations.values())
    assert drawn * size == pytest.approx(longest, rel=0.02)
    chart = bars_chart(result)
    stacked = sum(np.array(trace.y) for trace in chart.data)
    assert max(stacked) * unit(chart.layout.yaxis.title.text, SIZES) == pytest.approx(
        longest, rel=0.02
    )
    totals = [text.get_text() for text in axes.texts if text.get_text().endswith("s")]
    for text, one in zip(totals, result.configurations.values(), strict=True):
        value, name = text.split()
        assert float(value.replace(",", "")) * SIZES[name] == pytest.approx(one.total_ns, rel=0.05)


@pytest.mark.parametrize("slowdown", [0.97, 1.0, 1.06])
def test_parts_of_a_bar_add_up_to_the_total(slowdown):
    """A GEMM may be faster beside the communication than alone; no part is negative then."""
    result = example_result()
    one = result.configurations["t3"]
    one = replace(one, gemms={"gemm": replace(one.gemms["gemm"], slowdown=slowdown)})
    result = replace(result, configurations=result.configurations | {"t3": one})
    traces = bars_chart(result).data
    heights = [trace.y[list(trace.x).index("t3")] for trace in traces]
    assert min(heights) >= 0
    assert sum(heights) * 1e3 == pytest.approx(one.total_ns)
    (axes,) = draw(bars_picture(result))
    tops = [
        bar.get_y() + bar.get_height()
        for bar in axes.patches
        if bar.get_x() < list(result.configurations).index("t3") < bar.get_x() + bar.get_width()
    ]
    assert max(tops) * 1e3 == pytest.approx(one.total_ns, rel=2e-3)


@pytest.mark.parametrize("speed", [1e-5, 1e-3, 1.0, 10.0, 100.0])
def test_rooflines_from_gflops_to_petaflops(speed):
    result = scaled_run(1 / speed, speed)
    peak = result.system.peak_flops_per_ns
    (axes,) = draw(roofline_picture(result))
    for axis in (axes.xaxis, axes.yaxis):
        check_axis(axis)
    size = unit(axes.get_ylabel(), RATES)
    roof = axes.lines[0].get_ydata()
    assert max(roof) * size == pytest.approx(peak)
    text = next(text.get_text() for text in axes.texts if text.get_text().startswith("pipes"))
    shown, name = re.match(r"pipes ([\d,.]+) (\S+);", text).groups()
    assert float(shown.replace(",", "")) * RATES[name] == pytest.approx(peak, rel=0.05)
    chart = roofline_chart(result)
    assert unit(chart.layout.yaxis.title.text, RATES) == size
    for axis in (chart.layout.xaxis, chart.layout.yaxis):
        assert len(axis.tickvals) >= 2
        assert [float(text.replace(",", "")) for text in axis.ticktext] == list(axis.tickvals)
    points = {trace.name: trace for trace in chart.data}
    for name, (across, rate) in roofline_of(result).points.items():
        gemm_ns = result.configurations[name].ns["gemm"]
        assert rate * size == pytest.approx(result.workload.flops / gemm_ns)
        assert (points[name].x[0], points[name].y[0]) == (across, rate)


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1.0, 1e3])
def test_times_of_charts(factor):
    result = scaled_run(factor)
    timeline = next(iter(result.timelines.values()))
    chart = traffic_chart(result.timelines, memory_gb_per_s=1000.0, link_gb_per_s=150.0)
    end_ns = len(timeline.series["link (bytes/ns)"]) * timeline.bucket_ns
    size = unit(chart.layout.xaxis2.title.text, SIZES)
    assert max(chart.data[0].x) * size == pytest.approx(end_ns, rel=0.01)
    schedules = {
        one: expanded(algorithm("ring").schedule(one, 8))
        for one in ("reduce-scatter", "all-gather")
    }
    slider = schedule_chart(timeline, schedules, 8, "t3").layout.sliders[0]
    size = unit(slider.currentvalue.prefix.rstrip(": "), SIZES)
    last_ns = max(one.end_ns for one in timeline.spans)
    assert float(slider.steps[-1].label.replace(",", "")) * size == pytest.approx(last_ns, rel=0.05)
    first_ns = min(one.start_ns for one in timeline.spans if one.name == "reduce-scatter")
    first = float(slider.steps[0].label.replace(",", "")) * size
    assert first == pytest.approx(first_ns, abs=0.05 * last_ns), (
        "the picture begins where something moves"
    )


@pytest.mark.parametrize("total_ns", [5.0, 5e5, 5e12])
def test_columns_of_a_sweep(total_ns):
    table = pd.DataFrame(
        {
            "m": [1024, 2048],
            "configuration": ["t3", "t3"],
            "total_ns": [total_ns / 2, total_ns],
            "dram_total_bytes": [5, int(total_ns)],
        }
    )
    chart = sweep_chart(table)
    size = unit(chart.layout.yaxis.title.text, SIZES)
    assert max(chart.data[0].y) * size == pytest.approx(total_ns)
    assert chart.layout.yaxis.exponentformat == "none"


def test_units_have_two_to_five_digits():
    for stored, smallest in (("ns", 1.0), ("GFLOP/s", 1e-3), ("bytes", 1.0), ("J", 1e-9)):
        for power in range(1, 13):
            chosen = unit_of(stored, smallest * 10**power)
            assert 10 <= chosen.of(smallest * 10**power) * (1 + 1e-9), (stored, power)
    assert unit_of("ns", 0.5).name == "ns"
    assert unit_of("ns", 2_355_000).text(2_355_000) == "2,355.0"


@pytest.fixture
def saved(monkeypatch):
    """Figures that are written, instead of files."""
    found = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *given, **more: found.append(figure))
    return found


def test_axes_of_the_validation(saved, tmp_path):
    ring = [
        type("Ring", (), {"closed_form_ns": ns, "ours_ns": 1.02 * ns, "difference": 0.02})()
        for ns in (2e3, 5e4, 8e6)
    ]
    validation_figures.draw_rings(ring, ring, tmp_path / "rings.png")
    above, below = draw(saved[0])
    for axis in (above.yaxis, below.yaxis, below.xaxis):
        check_axis(axis)


def test_axes_of_the_scaling(saved, tmp_path):
    area = type("Area", (), {"ge": 2.5e6, "bits": 3e6})()
    axis = type("Axis", (), {"name": "channels", "of": "channels"})()
    points = [type("Point", (), {"axis": axis, "value": 2**i, "area": area})() for i in range(6)]
    scaling_plot.draw_scaling(points, tmp_path / "scaling.png")
    upper, lower = draw(saved[0])
    for one in (upper.yaxis, lower.yaxis, lower.xaxis):
        check_axis(one)


def test_axis_of_the_efficiency(saved, tmp_path):
    draw_efficiency(example_study(), tmp_path / "efficiency.svg")
    (axes,) = draw(saved[0])
    check_axis(axes.xaxis)
    check_axis(axes.yaxis)
