"""The variation of the evaluation's differences, on a small system and on made-up rows."""

import pandas as pd
import pytest

from sysmodel.lib.progress import no_progress
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from t3.experiments.evaluation.tables.variation import variation_table
from t3.experiments.evaluation.variation import measure_variation, variation
from tests.support.small_system import small_system, workload


def rows(**extents):
    """A sublayer's mean, least and most over round-robin, for each configuration."""
    return [
        {"model": "T-NLG", "tp": 8, "layer": "fc2", "configuration": name.replace("_", "-")}
        | {"speedup_mean": 1.2, "speedup_least": 1.1, "speedup_most": 1.3}
        | {f"over_round_robin_{part}": one for part, one in zip(_PARTS, values, strict=True)}
        for name, values in extents.items()
    ]


_PARTS = ("mean", "least", "most")


def test_what_is_measured_is_what_the_runs_give():
    system, work = small_system(channels=1), workload(1024, 768, 64, 4)
    names = ("sequential", "t3", "t3-mca")
    measured = measure_variation(
        system, no_progress, configurations=names, sublayers=[work], repetitions=3
    )
    options = RunOptions(engine="golden", configurations=names, repeat=3)
    found = simulate(Plan(work, system, options)).repetitions
    assert measured["configuration"].tolist() == list(names)
    row = measured[measured["configuration"] == "t3-mca"].iloc[0]
    excess = [one["t3-mca"].total_ns / one["t3"].total_ns - 1 for one in found]
    assert row["over_round_robin_least"] == pytest.approx(min(excess))
    assert row["over_round_robin_most"] == pytest.approx(max(excess))
    assert row["over_round_robin_mean"] == pytest.approx(sum(excess) / 3)
    assert row["speedup_most"] == pytest.approx(max(one["t3-mca"].speedup for one in found))
    assert variation(measured, "t3-mca") == pytest.approx(max(excess) - min(excess))
    assert variation(measured, "t3") == 0


def test_the_least_sure_sublayer_counts():
    table = rows(t3_mca=(0.0, -0.01, 0.01)) + rows(t3_mca=(0.1, 0.06, 0.11))
    assert variation(pd.DataFrame(table), "t3-mca") == pytest.approx(0.05)


def test_the_table_has_speedup_and_difference_with_their_ranges():
    table = variation_table(pd.DataFrame(rows(t3=(0, 0, 0), t3_mca=(-0.02, -0.03, 0.01))))
    assert len(table.rows) == 2
    assert table.rows[1] == [
        *("T-NLG", "8", "fc2", "`t3-mca`", "1.200", "1.100", "1.300", "-2.00", "-3.00", "+1.00")
    ]
