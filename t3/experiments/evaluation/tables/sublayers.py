"""Tables of the sublayers."""

from collections.abc import Callable, Mapping

import pandas as pd

from sysmodel.runs.result import CONFIGURATIONS
from t3.experiments.evaluation.metrics import geomean
from t3.experiments.evaluation.study import POINT, Study

from .table import Table

__all__ = ["byte_table", "mean_table", "speedup_table", "time_table"]

_BASE = "sequential"
_COMPARED = ("sequential", "t3", "t3-mca")
_POINT = ["model", "TP", "layer"]
_STATISTICS: Mapping[str, Callable[[pd.Series], float]] = {
    "geomean": geomean,
    "largest": max,
    "smallest": min,
}


def speedup_table(study: Study, group: str) -> Table:
    """Speedup of every sublayer and configuration, link rates side by side."""
    wide = {link: study.points("speedup", link, group=group) for link in study.links}
    columns = _configurations(study)
    headings = [*_POINT, "M x N x K", *(f"{name}, {link:g} GB/s (x)" for name, link in columns)]
    shapes = study.table.drop_duplicates(POINT).set_index(POINT)[["m", "n", "k"]]
    rows = [
        [*_named(point), " x ".join(map(str, shapes.loc[point]))]
        + [f"{wide[link].loc[point, name]:.3f}" for name, link in columns]
        for point in wide[study.links[0]].index
    ]
    return Table(headings, rows, text_columns=4)


def mean_table(study: Study, group: str) -> Table:
    """Speedups of a group's sublayers together."""
    wide = {link: study.points("speedup", link, group=group) for link in study.links}
    headings = ["configuration"]
    headings += [f"{name}, {link:g} GB/s (x)" for link in study.links for name in _STATISTICS]
    names = dict.fromkeys(name for name, _ in _configurations(study))
    rows = [
        [f"`{name}`"]
        + [f"{one(wide[link][name]):.3f}" for link in study.links for one in _STATISTICS.values()]
        for name in names
    ]
    return Table(headings, rows)


def _configurations(study: Study) -> list[tuple[str, float]]:
    """What is compared with the base, at each link rate."""
    measured = set(study.table["configuration"])
    shown = [name for name in CONFIGURATIONS if name != _BASE and name in measured]
    return [(name, link) for name in shown for link in study.links]


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
    columns = [(name, link) for link in study.links for name in quantities]
    wide = {
        (name, link): study.points(quantities[name][0], link, group=group) for name, link in columns
    }
    headings = [*_POINT, "configuration", *(f"{name}, {link:g} GB/s" for name, link in columns)]
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
    """Bytes of one GPU by DRAM category and on its link; the DRAM's total at every link rate."""
    link, others = study.links[0], study.links[1:]
    columns = {
        f"{part.upper()} {way}": f"dram_{part}_{way}_bytes"
        for part in ("gemm", "rs", "ag")
        for way in ("read", "write")
    } | {
        "DRAM total": "dram_total_bytes",
        "link RS": "link_rs_bytes",
        "link AG": "link_ag_bytes",
    }
    wide = [study.points(column, link, group=group) for column in columns.values()]
    wide += [study.points("dram_total_bytes", other, group=group) for other in others]
    headings = [*_POINT, "configuration", *(f"{name}, {link:g} GB/s (MB)" for name in columns)]
    headings += [f"DRAM total, {other:g} GB/s (MB)" for other in others]
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
