"""Simulations from a script or a notebook, by ``import t3``."""

import dataclasses
import inspect
import json

import pytest

import t3
from sysmodel.runs.options import RunOptions

SMALL = {"tp": 4, "engine": "golden", "channels": 1, "configurations": ("sequential", "t3")}


@pytest.fixture(scope="module")
def result():
    return t3.gemm(2048, 2048, 512, **SMALL)


def test_a_row_for_each_configuration(result):
    assert list(result.table.index) == ["sequential", "t3"]
    times = result.table["total_ns"]
    assert result.table.loc["t3", "speedup"] == times["sequential"] / times["t3"]
    # The all-gather and the reduce-scatter each send three of four chunks.
    output_bytes = 2048 * 2048 * 2
    assert result.table.loc["sequential", "link_rs_bytes"] == output_bytes * 3 / 4


def test_system_by_name_file_and_value(result, tmp_path):
    slow = tmp_path / "slow.toml"
    slow.write_text('base = "asplos24"\n[link]\nbandwidth_gb_per_s = 75.0\n')
    by_path = t3.gemm(2048, 2048, 512, system=slow, **SMALL)
    by_value = t3.gemm(2048, 2048, 512, system=t3.system(slow), **SMALL)
    assert by_path.table.equals(by_value.table)
    assert by_path.table.loc["sequential", "rs_ns"] > result.table.loc["sequential", "rs_ns"]


def test_timeline_and_trace(result, tmp_path):
    spans = result.timeline
    assert set(spans["configuration"]) == {"sequential", "t3"}
    assert (spans["start_ns"] <= spans["end_ns"]).all()
    result.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == len(spans)


def test_what_bounds_it(result):
    bounds = result.bounds
    assert set(bounds.index) == {
        (configuration, phase)
        for configuration in ("sequential", "t3")
        for phase in ("GEMM", "RS", "AG")
    }
    assert ((bounds[["memory", "link"]] >= 0) & (bounds[["memory", "link"]] <= 1)).all(axis=None)
    # The busy share of an undisturbed GEMM is its efficiency over the issue rate of the pipes.
    issue_rate = result.run.system.gpu.matrix_issue_rate
    expected = result.run.efficiencies["gemm"] / issue_rate
    assert bounds.loc[("sequential", "GEMM"), "pipes"] == pytest.approx(expected)
    # The all-gather sends three of four chunks in its time.
    row = result.table.loc["t3"]
    rate = row["link_ag_bytes"] / row["ag_ns"] / result.run.system.link.bandwidth_gb_per_s
    assert bounds.loc[("t3", "AG"), "link"] == pytest.approx(rate, rel=0.05)
    assert bounds.loc[("t3", "AG"), "link_link"] == pytest.approx(rate, rel=0.05)
    (axes,) = result.roofline().axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["sequential", "t3"]


def test_shows_itself(result):
    assert "2048 x 2048 x 512" in repr(result) and "sequential" in repr(result)
    html = result._repr_html_()
    assert "<table" in html and "<svg" in html
    for picture in (result.plot(), result.roofline()):
        assert picture._repr_png_().startswith(b"\x89PNG")
    (axes,) = result.plot().axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["sequential", "t3"]


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: t3.gemm(0, 2048, 512), "m"),
        (lambda: t3.gemm(2048, 2048, 512, dtype="fp8"), "dtype"),
        (lambda: t3.run("gpt-9"), "model"),
        (lambda: t3.run(layer="fc9"), "layer"),
        (lambda: t3.run(system="h900"), "system"),
        (lambda: t3.run(engine="fpga"), "engine"),
        (lambda: t3.run(configurations=("t4",)), "configurations"),
        (lambda: t3.run(engin="golden"), "engin"),
    ],
)
def test_bad_input_names_the_field(call, field):
    with pytest.raises(t3.InputError) as error:
        call()
    assert error.value.field == field


@pytest.mark.parametrize("function", ["run", "gemm"])
def test_the_signature_shows_the_options_of_a_run(function):
    parameters = inspect.signature(getattr(t3, function)).parameters
    for option in dataclasses.fields(RunOptions):
        if option.name != "configurations":  # they depend on the system by default
            assert parameters[option.name].default == option.default
