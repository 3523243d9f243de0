"""Effects of single parameters."""

import pandas as pd
import pytest

from sysmodel.lib.errors import InputError
from t3.experiments.evaluation.sensitivity import effects
from tests.support.configurations import EVALUATED as CONFIGURATIONS
from tests.support.example_study import DEFAULTS, example_study, sensitivity_rows


def test_effects_of_each_value():
    moved = effects(example_study())
    fc2 = moved[moved["layer"] == "fc2"].set_index(["parameter", "value"])
    assert list(fc2.index) == [
        ("t3.credit_window_workgroups", "256"),
        ("t3.mca_cuts", "[2, 8, 16]"),
        ("gpu.cu_bandwidth_bytes_per_cycle", "32"),
        ("gpu.cu_bandwidth_bytes_per_cycle", "128"),
        ("dram.timing.tCCD_WL.clocks", "2"),
        ("system", "asplos24-complete"),
        ("tokens", "4096"),
    ]
    assert list(fc2["default"]) == ["512", "[4, 16, 32]", "64", "64", "4", "asplos24", "8192"]
    for number, changed in enumerate(fc2["t3"] / fc2["t3 default"]):
        assert changed == pytest.approx(1 - 0.01 * (number + 1))
    assert len(moved) == 14


def test_rows_at_the_defaults_are_needed():
    rows = sensitivity_rows()
    base = (rows[list(DEFAULTS)] == pd.Series(DEFAULTS)).all(axis=1)
    base &= (rows["layer"] == "op") & (rows["system"] == "asplos24")
    assert base.sum() == len(CONFIGURATIONS)
    study = example_study(sensitivity=rows[~base])
    with pytest.raises(InputError, match="T-NLG op, TP 16, lacks a row at the defaults"):
        effects(study)
