"""Table of the differences between repetitions of a run."""

import pandas as pd

from sysmodel.runs.comparison import ROUND_ROBIN
from t3.experiments.evaluation.variation import OVER, spread_columns
from t3.report.document import Table

__all__ = ["variation_table"]


def variation_table(measured: pd.DataFrame) -> Table:
    """Speedup of every repeated sublayer, and its difference from round-robin."""
    headings = ["model", "TP", "layer", "configuration"]
    headings += ["speedup, mean (x)", "least (x)", "most (x)"]
    headings += [f"time over `{ROUND_ROBIN}`, mean (%)", "least (%)", "most (%)"]
    rows = []
    for _, one in measured.iterrows():
        rows.append(
            [one["model"], str(one["tp"]), one["layer"], f"`{one['configuration']}`"]
            + [f"{one[column]:.3f}" for column in spread_columns("speedup")]
            + [f"{100 * one[column]:+.2f}" for column in spread_columns(OVER)]
        )
    return Table(headings, rows, text_columns=4)
