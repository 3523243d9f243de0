"""Arguments of the functions of ``t3``: one error names each argument that cannot be used."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import t3

SMALL = {"tp": 4, "engine": "golden", "channels": 1, "configurations": ("sequential", "t3")}
BLOCK = {"workload": {"m": 1024, "n": 768, "k": 64, "tp": 4}}


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: t3.run(3), "model"),
        (lambda: t3.run("t-nlg", 3), "layer"),
        (lambda: t3.run(tp=8.0), "tp"),
        (lambda: t3.run(tp=True), "tp"),
        (lambda: t3.run(tokens="many"), "tokens"),
        (lambda: t3.run(dtype="fp8"), "dtype"),
        (lambda: t3.run(system=None), "system"),
        (lambda: t3.run(system={"base": 3}), "system: base"),
        (lambda: t3.run(system={"base": "h200", "link": {"rate": 3}}), "system: link.rate"),
        (lambda: t3.gemm("1024", 768, 64), "m"),
        (lambda: t3.gemm(1024, 768.0, 64), "n"),
        (lambda: t3.gemm(1024, 768, None), "k"),
        (lambda: t3.gemm(1024, 768, 64, engine=1), "engine"),
        (lambda: t3.check(gpus=2.0), "gpus"),
        (lambda: t3.check(contexts=True), "contexts"),
        (lambda: t3.check(back_pressure=99), "back_pressure"),
        (lambda: t3.model("gpt-9"), "model"),
        (lambda: t3.model("t-nlg", 5), "tp"),
        (lambda: t3.model("t-nlg", dtype="fp8"), "dtype"),
        (lambda: t3.model("t-nlg", engine="c"), "engine"),
        (lambda: t3.model("t-nlg", system="h900"), "system"),
        (lambda: t3.model("t-nlg", workers=0), "workers"),
        (lambda: t3.model("t-nlg", out=3), "out"),
        (lambda: t3.sweep(3), "grid"),
        (lambda: t3.sweep(BLOCK, workers=1.5), "workers"),
        (lambda: t3.sweep(BLOCK, engine="c"), "engine"),
        (lambda: t3.sweep(BLOCK, scheduler=3), "scheduler"),
        (lambda: t3.sweep(BLOCK, 3), "out"),
        (lambda: t3.sweep({"workload": {"m": 1.5}}), "sweep: grid.0.workload.m.0"),
        (lambda: t3.dram(), "pattern"),
        (lambda: t3.dram("all"), "pattern"),
        (lambda: t3.dram("read", trace="x"), "pattern"),
        (lambda: t3.dram("read", requests=1e3), "requests"),
        (lambda: t3.dram("mix", ratio=2), "ratio"),
        (lambda: t3.dram("mix", offset=33), "offset"),
        (lambda: t3.dram("read", queue="many"), "queue"),
        (lambda: t3.dram("read", queue=0), "queue"),
        (lambda: t3.dram("read", address_map="column:6"), "address_map"),
        (lambda: t3.dram(trace="nowhere"), "trace"),
        (lambda: t3.dram("read", patern=3), "patern"),
        (lambda: t3.validate(measured=3, system="h200"), "measured"),
        (lambda: t3.validate(measured=[], system="h200"), "measured"),
        (lambda: t3.validate(system="h200"), "system"),
        (lambda: t3.calibrate(3, "h200"), "measured"),
        (lambda: t3.calibrate("rows.csv", 3), "base"),
        (lambda: t3.calibrate("rows.csv", "h300"), "base"),
        (lambda: t3.system(3), "source"),
        (lambda: t3.compare(3, {}), "one"),
        (lambda: t3.compare({}, {}), "one"),
        (lambda: t3.compare("nowhere", {}), "nowhere"),
        (lambda: t3.validate(3), "out"),
        (lambda: t3.export(3), "out"),
        (lambda: t3.export("x", reset="late"), "reset"),
        (lambda: t3.export("x", with_links=1), "with_links"),
        (lambda: t3.export("x", channels="8"), "channels"),
        (lambda: t3.export("x", channels=1.0), "channels"),
        (lambda: t3.export("x", with_data=3), "with_data"),
    ],
)
def test_the_error_names_the_argument(call, field, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(t3.InputError) as caught:
        call()
    assert caught.value.field == field
    assert "\n" not in str(caught.value) and "--" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_rows_of_a_table_are_sizes():
    sizes = pd.DataFrame({"m": [1024], "n": [768], "k": [64]})
    expected = t3.gemm(1024, 768, 64, **SMALL).table
    for _, row in sizes.iterrows():
        found = t3.gemm(row.m, row.n, row.k, **{**SMALL, "tp": np.int8(4)})
        assert found.table.equals(expected)
        assert found.as_dict()["workload"]["m"] == 1024


def test_arrays_are_axes():
    from t3.experiments.sweep.grid import make_grid

    block = {
        "workload": {"m": np.array([1024, 2048]), "n": 768, "k": range(64, 129, 64), "tp": 4},
        "system": {"link.bandwidth_gb_per_s": np.linspace(75, 150, 2), "base": t3.system("h200")},
    }
    grid = make_grid({"title": "x", "grid": [block]}, where="sweep", folder=Path())
    assert len(grid.points) == 8
    assert {point.system.name for point in grid.points} == {"h200"}
    assert {type(point.workload.m) for point in grid.points} == {int}
