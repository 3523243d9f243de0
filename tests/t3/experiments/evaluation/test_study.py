"""Studies: incomplete tables are refused, and points are selected."""

import pytest

from sysmodel.lib.errors import InputError
from t3.experiments.evaluation.study import CUS, Case
from tests.support.example_study import SETTINGS, example_study, sensitivity_rows, table_of


@pytest.mark.parametrize("column", ["dram_rs_read_bytes", "gemm_waiting", "configuration", "tp"])
def test_a_missing_column_is_named(column):
    with pytest.raises(InputError, match=f"table: column '{column}' is missing"):
        example_study(table=table_of().drop(columns=column))


def test_a_missing_column_of_another_table_is_named():
    models = example_study().models
    with pytest.raises(InputError, match="models: column 'communication_share' is missing"):
        example_study(models=models.drop(columns="communication_share"))
    with pytest.raises(InputError, match="sensitivity: column 'speedup' is missing"):
        example_study(sensitivity=sensitivity_rows().drop(columns="speedup"))


def test_a_missing_row_is_named():
    table = table_of()
    removed = (
        (table["model"] == "PALM")
        & (table["layer"] == "ip")
        & (table["configuration"] == "t3")
        & (table["link.bandwidth_gb_per_s"] == 75.0)
        & (table["gpu.dispatch"] == "stages")
    )
    assert removed.sum() == 1
    with pytest.raises(InputError, match="table: PALM ip, TP 32, lacks t3 at stages, 75 GB/s"):
        example_study(table=table[~removed])


def test_a_row_twice_is_refused():
    table = table_of()
    with pytest.raises(InputError, match="twice at free, 150 GB/s"):
        example_study(table=table.loc[[*table.index, 3]])


def test_own_link_rate_comes_first_own_dispatch_in_each_and_points_keep_their_order():
    study = example_study(table=table_of(SETTINGS[3::-1]))
    assert [one.label for one in study.cases] == [
        *("free, 150 GB/s", "stages, 150 GB/s", "free, 75 GB/s", "stages, 75 GB/s")
    ]
    assert study.main_cases == study.cases[:2]
    points = list(study.points("total_ns", Case("stages", 75.0), group="main").index)
    assert points[:5] == [
        *(("Mega-GPT-2", 8, layer) for layer in ("op", "fc1", "fc2", "ip")),
        ("Mega-GPT-2", 16, "op"),
    ]
    assert len(points) == 16


def test_points_of_other_compute_units_stay_out():
    study = example_study()
    own, doubled = (
        study.points("gemm_ns", Case("free", 150.0), compute_units=n) for n in (None, 160)
    )
    assert own["sequential"].to_numpy() == pytest.approx(2 * doubled["sequential"].to_numpy())
    assert study.points("gemm_ns", Case("free", 75.0), compute_units=160).empty
    assert set(study.table[CUS]) == {80, 160}


def test_a_case_is_one_way_to_dispatch():
    study = example_study()
    free, stages = (study.points("gemm_ns", case)["sequential"] for case in study.main_cases)
    assert (0.7 * stages).to_numpy() == pytest.approx(0.8 * free.to_numpy())
    models = [
        study.model_points("model_ms", case, "prompt")["sequential"] for case in study.main_cases
    ]
    assert (models[0] < models[1]).all()
