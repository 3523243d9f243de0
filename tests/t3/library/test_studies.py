"""Whole models, memory channels and validation, from Python."""

import json

import pandas as pd
import pytest

import t3
from t3.cli.main import main
from t3.experiments.validation import sections
from t3.experiments.validation.measured_rows import Rows
from t3.experiments.validation.measured_sections import MeasuredGpus
from t3.report.document import Section, Table

_COLUMNS = ("model", "layer", "tp", "m", "n", "k")
TIMES = {"sequential": (1.0e6, 0.8e6), "t3-critical": (1.05e6, 0.3e6)}


@pytest.fixture
def swept(monkeypatch):
    """Give the sublayers made-up times; lists the grids."""
    grids = []

    def sweep(grid, out, **_):
        grids.append(grid)
        rows = [
            {name: getattr(point.workload, name) for name in _COLUMNS}
            | {"configuration": name, "gemm_ns": gemm, "exposed_communication_ns": exposed}
            for point in grid.points
            for name, (gemm, exposed) in TIMES.items()
        ]
        return pd.DataFrame(rows)

    monkeypatch.setattr("t3.experiments.transformer.whole.sweep", sweep)
    return grids


def test_a_whole_model(swept, tmp_path):
    slow = {"base": "h200", "link.bandwidth_gb_per_s": 100}
    result = t3.model("llama-3-70b", 8, system=slow, dtype="bf16", out=tmp_path / "out")
    (grid,) = swept
    assert {point.workload.dtype for point in grid.points} == {"bf16"}
    assert {point.system.link.bandwidth_gb_per_s for point in grid.points} == {100}
    rows = result.table.set_index(["phase", "configuration"])
    assert rows.loc[("training", "t3-critical"), "layer_all_reduced_gemm_ns"] == 4 * 1.05e6
    assert result.summary.loc[("training", "sequential"), "speedup"] == 1
    assert "Llama-3-70B, TP 8, on custom" in repr(result) and "<table" in result._repr_html_()
    assert len(pd.read_csv(tmp_path / "out" / "model.csv")) == len(result.table)


def test_figures_of_a_channel_are_those_of_the_command(capsys):
    result = t3.dram("mix", ratio="2:1", requests=3000, queue=64, system="h200")
    arguments = ["mix", "--ratio", "2:1", "--requests", "3000", "--queue", "64"]
    assert main(["dram", *arguments, "--system", "h200", "--json"]) == 0
    assert result.as_dict() == json.loads(capsys.readouterr().out)
    assert result.table["read_latency_ns.p50"] == result.as_dict()["read_latency_ns"]["p50"]
    assert "One HBM channel of h200: mix" in repr(result) and "<table" in result._repr_html_()


def test_a_trace_with_a_byte_order_mark(tmp_path):
    (tmp_path / "a.trace").write_bytes(b"\xef\xbb\xbfR 0x0\r\nW 0x20\r\n")
    assert t3.dram(trace=tmp_path / "a.trace").as_dict()["requests"] == 2


@pytest.mark.parametrize("broken", [(), ("5 % more than 3 %",)])
def test_validation(monkeypatch, tmp_path, broken):
    table = Table(("figure", "difference", "within"), (("rate", "+1.0 %", "yes"),))
    one = Section("Rates", table=table, broken=broken)
    gpus = MeasuredGpus(Rows({}, {}, 0), {})
    monkeypatch.setattr(sections, "compare_all", lambda report: ([one], gpus))
    result = t3.validate(tmp_path / "out")
    assert result.passed is not bool(broken)
    assert result.broken == [f"Rates: {line}" for line in broken]
    assert list(result.tables["Rates"]["difference"]) == ["+1.0 %"]
    assert ("passed" in repr(result)) is not bool(broken)
    assert sorted(result.files) == sorted((tmp_path / "out").iterdir())
    assert t3.validate().files == []
