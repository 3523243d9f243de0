"""Table that compares t3-critical with the other policies."""

import pytest

from t3.experiments.evaluation.tables.policies import policy_table, worst_table
from tests.support.example_study import SETTINGS, example_study, table_of

POINTS = [("T-NLG", 8, "op"), ("T-NLG", 8, "fc2"), ("GPT-3", 32, "op")]
TOTALS = {
    "t3": (100.0, 100.0, 90.0),
    "t3-compute-first": (105.0, 96.0, 92.0),
    "t3-mca": (110.0, 95.0, 95.0),
    "t3-mca-paper": (120.0, 110.0, 100.0),
    "t3-critical": (100.5, 98.8, 81.0),
}


@pytest.fixture(scope="module")
def study():
    table = table_of(SETTINGS[:1], POINTS)
    for name, totals in TOTALS.items():
        for (model, _, layer), total in zip(POINTS, totals, strict=True):
            here = (table["model"] == model) & (table["layer"] == layer)
            table.loc[here & (table["configuration"] == name), "total_ns"] = total
    return example_study(table=table)


def test_the_worst_point_is_named(study):
    assert worst_table(study).rows == [
        ["free, 150 GB/s", "3", "2", "+4.00", "T-NLG fc2, TP 8", "`t3-mca`"]
    ]


def test_every_point_is_listed(study):
    rows = policy_table(study).rows
    assert [row[3:] for row in rows] == [
        ["+0.50", "`t3`"],
        ["+4.00", "`t3-mca`"],
        ["-10.00", "`t3`"],
    ]
