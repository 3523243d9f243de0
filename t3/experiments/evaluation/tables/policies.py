"""Tables that compare arbitration policies."""

from typing import Any

import pandas as pd

from t3.experiments.evaluation.study import REPRODUCED, Case, Study
from t3.report.document import Table

__all__ = ["CLOSE", "policy_table", "worst_table"]

CLOSE = 0.01
"""Largest accepted deficit of the policy against the best of the other policies."""

_POLICY = "t3-critical"
_OTHERS = ["t3", "t3-compute-first", "t3-mca", REPRODUCED]


def worst_table(study: Study) -> Table:
    """Largest deficit of the policy against the best of the other policies, with its sublayer."""
    headings = ["case", "sublayers", "at most 1 % behind", "furthest behind (%)"]
    headings += ["at:", "best there:"]
    rows = []
    for case in study.cases:
        behind = _behind(study, case)
        worst: Any = behind["share"].idxmax()
        model, tp, layer = worst
        rows.append(
            [case.label, str(len(behind)), str((behind["share"] <= CLOSE).sum())]
            + [f"{100 * behind.loc[worst, 'share']:+.2f}"]
            + [f"{model} {layer}, TP {tp}", f"`{behind.loc[worst, 'best']}`"]
        )
    return Table(headings, rows)


def policy_table(study: Study) -> Table:
    """Deficit of the policy for every sublayer and case."""
    cases = {case: _behind(study, case) for case in study.cases}
    headings = ["model", "TP", "layer"]
    for case in cases:
        headings += [f"behind the best, {case.label} (%)", f"best, {case.label}:"]
    rows = []
    for point in cases[study.cases[0]].index:
        model, tp, layer = point
        row = [model, str(tp), layer]
        for one in cases.values():
            row += [f"{100 * one.loc[point, 'share']:+.2f}", f"`{one.loc[point, 'best']}`"]
        rows.append(row)
    return Table(headings, rows, text_columns=3)


def _behind(study: Study, case: Case) -> pd.DataFrame:
    """Best of the other policies for each sublayer, and the policy's time over the best time, minus
    1.
    """
    total = study.points("total_ns", case)
    others = total[_OTHERS]
    share = total[_POLICY] / others.min(axis=1) - 1
    found: pd.DataFrame = pd.DataFrame({"share": share, "best": others.idxmin(axis=1)})
    return found
