"""Tables of the sublayers."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from sysmodel.lib.markdown import MISSING
from sysmodel.runs.result import CONFIGURATIONS
from t3.experiments.evaluation.metrics import geomean
from t3.experiments.evaluation.study import BASE, POINT, REPRODUCED, Case, Study

from .table import Table

__all__ = ["byte_table", "mean_table", "speedup_table", "time_table"]

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
    """Speedups of a group's sublayers together, and the gain of their geomean as a share of the
    ideal overlap's; ``groups`` has the words for each group. Split CUs are left out: what they
    run beside the all-reduce is another GEMM than the one whose output it reduces."""
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
    """What is compared with the base."""
    measured = set(study.table["configuration"])
    return [name for name in CONFIGURATIONS if name != BASE and name in measured]


def time_table(study: Study, group: str) -> Table:
    """Times of every sublayer: GEMM, communication hidden and exposed, total."""
    quantities = {
        "GEMM (µs)": ("gemm_ns", 1e-3, ",.1f"),
        "GEMM slowed (x)": ("gemm_slowdown", 1, ".3f"),
        "by contention (x)": ("gemm_contention", 1, ".3f"),
        "by waiting (x)": ("gemm_waiting", 1, ".3f"),
        "comm. hidden (µs)": ("overlapped_communication_ns", 1e-3, ",.1f"),
        "comm. exposed (µs)": ("exposed_communication_ns", 1e-3, ",.1f"),
        "total (µs)": ("total_ns", 1e-3, ",.1f"),
    }
    columns = [(name, case) for case in study.cases for name in quantities]
    wide = {
        (name, case): study.points(quantities[name][0], case, group=group) for name, case in columns
    }
    headings = [*_POINT, "configuration", *(f"{name}, {case.label}" for name, case in columns)]
    rows = []
    for point in wide[columns[0]].index:
        for configuration in _COMPARED:
            row = [*_named(point), configuration]
            for column in columns:
                _, scale, form = quantities[column[0]]
                row.append(f"{wide[column].loc[point, configuration] * scale:{form}}")
            rows.append(row)
    return Table(headings, rows, text_columns=4)


def byte_table(study: Study, group: str) -> Table:
    """Bytes of one GPU by DRAM category and on its link; the DRAM's total in every case."""
    first, others = study.cases[0], study.cases[1:]
    columns = {
        f"{part.upper()} {way}": f"dram_{part}_{way}_bytes"
        for part in ("gemm", "rs", "ag")
        for way in ("read", "write")
    } | {
        "DRAM total": "dram_total_bytes",
        "link RS": "link_rs_bytes",
        "link AG": "link_ag_bytes",
    }
    wide = [study.points(column, first, group=group) for column in columns.values()]
    wide += [study.points("dram_total_bytes", other, group=group) for other in others]
    headings = [*_POINT, "configuration", *(f"{name}, {first.label} (MB)" for name in columns)]
    headings += [f"DRAM total, {other.label} (MB)" for other in others]
    rows = [
        [*_named(point), configuration]
        + [f"{one.loc[point, configuration] / 1e6:,.1f}" for one in wide]
        for point in wide[0].index
        for configuration in _COMPARED
    ]
    return Table(headings, rows, text_columns=4)


def _named(point: tuple[str, int, str]) -> list[str]:
    model, tp, layer = point
    return [model, str(tp), layer]
