"""How far repetitions of a run differ."""

import pandas as pd

from sysmodel.runs.comparison import ROUND_ROBIN
from t3.experiments.evaluation.variation import OVER

from .table import Table

__all__ = ["variation_table"]


def variation_table(measured: pd.DataFrame) -> Table:
    """Speedup and difference to round-robin of every sublayer that was repeated."""
    headings = ["model", "TP", "layer", "configuration"]
    headings += ["speedup, mean (x)", "least (x)", "most (x)"]
    headings += [f"time over `{ROUND_ROBIN}`, mean (%)", "least (%)", "most (%)"]
    rows = []
    for _, one in measured.iterrows():
        differences = [one[f"{OVER}_{part}"] for part in ("mean", "least", "most")]
        rows.append(
            [one["model"], str(one["tp"]), one["layer"], f"`{one['configuration']}`"]
            + [f"{one[f'speedup_{part}']:.3f}" for part in ("mean", "least", "most")]
            + [f"{100 * difference:+.2f}" for difference in differences]
        )
    return Table(headings, rows, text_columns=4)
