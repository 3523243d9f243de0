"""Tables of whole models and of the GEMM alone."""

import re

import numpy as np
import pandas as pd

from sysmodel.config.workload import known_workloads
from sysmodel.lib.markdown import MISSING, signed
from t3.experiments.evaluation.study import Study

from .table import Table

__all__ = ["model_table", "layer_table", "operator_table", "efficiency_table", "shape_table"]

_BASE = "sequential"


def model_table(study: Study, variant: str) -> Table:
    """End-to-end results of every model and phase, link rates side by side."""
    shown = ("t3", "t3-mca", "ideal-overlap")
    headings = ["model", "TP", "phase"]
    for link in study.links:
        headings += [f"sequential, {link:g} GB/s (ms)", f"comm. share, {link:g} GB/s (%)"]
    headings += [f"{name}, {link:g} GB/s (x)" for name in shown for link in study.links]
    rows = []
    for phase in study.models["phase"].unique():
        time, share, speedup = (
            {link: study.model_points(column, link, phase, variant=variant) for link in study.links}
            for column in ("model_ms", "communication_share", "speedup")
        )
        for point in time[study.links[0]].index:
            row = [point[0], str(point[1]), phase]
            for link in study.links:
                row += [
                    f"{time[link].loc[point, _BASE]:,.1f}",
                    f"{100 * share[link].loc[point, _BASE]:.1f}",
                ]
            row += [
                f"{speedup[link].loc[point, name]:.3f}" for name in shown for link in study.links
            ]
            rows.append(row)
    return Table(headings, rows, text_columns=3)


def layer_table(study: Study) -> Table:
    """Where a layer's time goes in sequential execution, by kind of operator, at the first link
    rate, attention sliced."""
    columns = map(str, study.models.columns)
    kinds = [name for name in columns if re.fullmatch(r"layer_.+_ns", name)]
    words = (name.removeprefix("layer_").removesuffix("_ns").replace("_", " ") for name in kinds)
    headings = [
        "model",
        "TP",
        "phase",
        f"layer, {study.links[0]:g} GB/s (µs)",
        *(f"{name} (%)" for name in words),
    ]
    rows = []
    for phase in study.models["phase"].unique():
        wide = {
            name: study.model_points(name, study.links[0], phase)[_BASE]
            for name in ("layer_ns", *kinds)
        }
        layers = wide["layer_ns"]
        for (model, tp), whole in zip(layers.index, layers, strict=True):
            shares = (100 * wide[name][model, tp] / whole for name in kinds)
            parts = (f"{share:.1f}" for share in shares)
            rows.append([model, str(tp), phase, f"{whole / 1e3:,.0f}", *parts])
    return Table(headings, rows, text_columns=3)


def operator_table(operators: pd.DataFrame) -> Table:
    """A table as it comes, text columns left, numbers to three significant digits."""
    texts = [not pd.api.types.is_numeric_dtype(operators[name]) for name in operators]
    headings = [
        str(name).replace("_", " ") + (":" if is_text else "")
        for name, is_text in zip(operators, texts, strict=True)
    ]
    rows = ([_cell(value) for value in row] for row in operators.itertuples(index=False))
    return Table(headings, list(rows), text_columns=0)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return MISSING if np.isnan(value) else f"{value:,.3g}" if value < 100 else f"{value:,.0f}"
    return str(value)


def efficiency_table(study: Study) -> Table:
    """Efficiency of the GEMM alone over K, ours and a tuned library's."""
    rows = (
        [str(k), f"{100 * ours:.1f}", f"{100 * library:.1f}", signed(100 * (ours - library))]
        for k, ours, library in study.efficiency
    )
    headings = ("K", "model (%)", "tuned library (%)", "difference (points)")
    return Table(headings, list(rows), text_columns=0)


def shape_table(study: Study) -> Table:
    """The models, how sure their shapes are, and from where."""
    used = set(study.table["model"])
    rows = (
        [
            model.name,
            f"{model.hidden:,}",
            str(model.layers),
            f"{model.tokens:,}",
            ", ".join(map(str, model.tensor_parallel)),
            model.confidence,
            model.source,
        ]
        for model in known_workloads().model
        if model.name in used
    )
    headings = ("model", "hidden", "layers", "tokens", "TP", "confidence:", "source:")
    return Table(headings, list(rows))
