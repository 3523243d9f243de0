"""The RTL's rows beside the golden engine's."""

import pytest

from sysmodel.lib.errors import SimulationError
from t3.experiments.evaluation.engines import check_engines
from tests.support.example_study import SETTINGS, table_of

POINTS = [("T-NLG", 8, "op"), ("T-NLG", 8, "fc2")]
MATRIX = table_of(SETTINGS[:2], POINTS)


def rtl_rows():
    rows = MATRIX.assign(engine="rtl")
    return rows[rows["configuration"].isin(["t3", "t3-critical"])].reset_index(drop=True)


def test_equal_rows_pass():
    rows = rtl_rows()
    assert len(rows) == 8
    check_engines(MATRIX, rows)


@pytest.mark.parametrize("column", ["total_ns", "dma_reads", "gemm_waiting"])
def test_a_number_that_differs_is_named(column):
    rows = rtl_rows()
    rows[column] = rows[column].astype(float)
    rows.loc[5, column] += 1e-6
    where = "gpu.dispatch stages.*configuration t3-critical"
    with pytest.raises(SimulationError, match=f"engines differ: .*{where}.*: {column} is"):
        check_engines(MATRIX, rows)


def test_the_speedup_over_a_rival_depends_on_the_configurations_of_the_point():
    rows = rtl_rows()
    rows["speedup_over_rival"] = rows["speedup_over_rival"] * 1.5
    check_engines(MATRIX, rows)


def test_a_row_without_counterpart_is_named():
    rows = rtl_rows()
    golden = MATRIX[MATRIX["layer"] != "fc2"]
    with pytest.raises(SimulationError, match="lacks: model T-NLG, layer fc2, tp 8"):
        check_engines(golden, rows)
