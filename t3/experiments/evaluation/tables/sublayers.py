"""Tables of the sublayers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from sysmodel.runs.columns import SUBLAYER
from sysmodel.runs.options import CONFIGURATIONS
from t3.experiments.evaluation.metrics import geomean
from t3.experiments.evaluation.study import BASE, POINT, REPRODUCED, Case, Study
from t3.report.document import MISSING, Table

__all__ = ["byte_table", "mean_table", "point_table", "speedup_table", "time_table"]

_IDEAL = "ideal-overlap"
_COMPARED = (BASE, "t3", "t3-mca", REPRODUCED, "t3-critical")
_POINT = ["model", "TP", "layer"]
_STATISTICS: Mapping[str, Callable[[pd.Series], float]] = {
    "geomean": geomean,
    "least": min,
    "most": max,
}


def speedup_table(study: Study, group: str) -> Table:
    """Speedup of every sublayer and configuration, cases side by side."""
    wide = {case: study.points("speedup", case, group=group) for case in study.cases}
    columns = [(name, case) for name in _configurations(study) for case in study.cases]
    headings = [*_POINT, "M x N x K", *(f"{name}, {case.label} (x)" for name, case in columns)]
    shapes = study.table.drop_duplicates(POINT).set_index(POINT)[["m", "n", "k"]]
    rows = [
        [*_named(point), " x ".join(map(str, shapes.loc[point]))]
        + [f"{wide[case].loc[point, name]:.3f}" for name, case in columns]
        for point in wide[study.cases[0]].index
    ]
    return Table(headings, rows, text_columns=4)


def mean_table(study: Study, groups: Mapping[str, str], cases: Sequence[Case]) -> Table:
    """Speedups over the sublayers of each group, and the gain of their geomean as a share of the
    ideal overlap's gain; ``groups`` has the name of each group. Split CUs are left out: their
    all-reduce does not reduce the output of the concurrent GEMM.
    """
    headings = ["sublayers", "configuration:"]
    for case in cases:
        headings += [f"{name}, {case.label} (x)" for name in _STATISTICS]
        headings += [f"of the ideal gain, {case.label} (%)"]
    rows = []
    for group, words in groups.items():
        wide = [study.points("speedup", case, group=group) for case in cases]
        for name in _configurations(study):
            if name.startswith("cu-split"):
                continue
            row = [words, f"`{name}`"]
            for one in wide:
                row += [f"{statistic(one[name]):.3f}" for statistic in _STATISTICS.values()]
                gain, ideal = geomean(one[name]) - 1, geomean(one[_IDEAL]) - 1
                row.append(f"{100 * gain / ideal:.0f}" if ideal > 0 else MISSING)
            rows.append(row)
    return Table(headings, rows)


def _configurations(study: Study) -> list[str]:
    """Configurations to compare with the base."""
    measured = set(study.table["configuration"])
    return [name for name in CONFIGURATIONS if name != BASE and name in measured]


def time_table(study: Study, group: str) -> Table:
    """Times of every sublayer: GEMM, communication hidden and exposed, total."""
    quantities = {
        "GEMM (µs)": ("gemm_ns", 1e-3, ",.1f"),
        "GEMM slowed (x)": ("gemm_slowdown", 1, ".3f"),
        "by contention (x)": ("gemm_contention", 1, ".3f"),
        "by the link (x)": ("gemm_link", 1, ".3f"),
        "by waiting (x)": ("gemm_waiting", 1, ".3f"),
        "comm. hidden (µs)": ("overlapped_communication_ns", 1e-3, ",.1f"),
        "comm. exposed (µs)": ("exposed_communication_ns", 1e-3, ",.1f"),
        "total (µs)": ("total_ns", 1e-3, ",.1f"),
    }
    columns = {
        f"{name}, {case.label}": (study.points(key, case, group=group) * scale, form)
        for case in study.cases
        for name, (key, scale, form) in quantities.items()
    }
    return point_table(columns, _COMPARED)


def byte_table(study: Study, group: str) -> Table:
    """Bytes of one GPU by DRAM category and on its link; the DRAM's total in every case."""
    first, others = study.cases[0], study.cases[1:]
    shown = [(one, first) for one in (*SUBLAYER.dram.values(), *SUBLAYER.link.values())]
    shown += [(SUBLAYER.dram["total"], other) for other in others]
    columns = {
        f"{one.title}, {case.label} (MB)": (study.points(one.key, case, group=group) / 1e6, ",.1f")
        for one, case in shown
    }
    return point_table(columns, _COMPARED)


def point_table(
    columns: Mapping[str, tuple[pd.DataFrame, str]], configurations: Sequence[str]
) -> Table:
    """Table with a row for each sublayer and configuration.

    Parameters
    ----------
    columns : mapping
        Values of a column, with a row for each sublayer and a column for each configuration, and
        the format of a value, by heading.
    configurations : sequence of str
        Configurations to show.
    """
    (first, _), *_ = columns.values()
    rows = [
        [*_named(point), configuration]
        + [_cell(values.loc[point, configuration], form) for values, form in columns.values()]
        for point in first.index
        for configuration in configurations
    ]
    return Table([*_POINT, "configuration", *columns], rows, text_columns=4)


def _cell(value: Any, form: str) -> str:
    return MISSING if pd.isna(value) else f"{value:{form}}"


def _named(point: tuple[str, int, str]) -> list[str]:
    model, tp, layer = point
    return [model, str(tp), layer]
