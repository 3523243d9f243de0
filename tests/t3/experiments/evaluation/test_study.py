"""What a study refuses, and how it chooses."""

import pytest
from made_up_study import made_up_study, sensitivity_rows, table_of

from sysmodel.lib.errors import InputError
from t3.experiments.evaluation.study import CUS


@pytest.mark.parametrize("column", ["dram_rs_read_bytes", "gemm_waiting", "configuration", "tp"])
def test_a_missing_column_is_named(column):
    with pytest.raises(InputError, match=f"table: column '{column}' is missing"):
        made_up_study(table=table_of().drop(columns=column))


def test_a_missing_column_of_another_table_is_named():
    models = made_up_study().models
    with pytest.raises(InputError, match="models: column 'communication_share' is missing"):
        made_up_study(models=models.drop(columns="communication_share"))
    with pytest.raises(InputError, match="sensitivity: column 'speedup' is missing"):
        made_up_study(sensitivity=sensitivity_rows().drop(columns="speedup"))


def test_a_missing_row_is_named():
    table = table_of()
    gone = (
        (table["model"] == "PALM")
        & (table["layer"] == "ip")
        & (table["configuration"] == "t3")
        & (table["link.bandwidth_gb_per_s"] == 75.0)
    )
    assert gone.sum() == 1
    with pytest.raises(InputError, match="table: PALM ip, TP 32, lacks t3 at 75 GB/s"):
        made_up_study(table=table[~gone])


def test_a_row_twice_is_refused():
    table = table_of()
    with pytest.raises(InputError, match="twice at 150 GB/s"):
        made_up_study(table=table.loc[[*table.index, 3]])


def test_own_link_rate_comes_first_and_points_keep_their_order():
    study = made_up_study(table=table_of([(75.0, 80), (150.0, 80)]))
    assert study.links == [150.0, 75.0]
    points = list(study.points("total_ns", 75.0, group="main").index)
    assert points[:5] == [
        *(("Mega-GPT-2", 8, layer) for layer in ("op", "fc1", "fc2", "ip")),
        ("Mega-GPT-2", 16, "op"),
    ]
    assert len(points) == 16


def test_points_of_other_compute_units_stay_out():
    study = made_up_study()
    own, doubled = (study.points("gemm_ns", 150.0, compute_units=n) for n in (None, 160))
    assert own["sequential"].to_numpy() == pytest.approx(2 * doubled["sequential"].to_numpy())
    assert study.points("gemm_ns", 75.0, compute_units=160).empty
    assert set(study.table[CUS]) == {80, 160}
