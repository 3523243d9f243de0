"""Tables of whole models and of the GEMM alone."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from sysmodel.config.model import known_models
from t3.experiments.evaluation.study import BASE, REPRODUCED, Case, Study
from t3.report.document import MISSING, Table
from t3.report.markdown import signed

__all__ = ["model_table", "layer_table", "operator_table", "efficiency_table", "shape_table"]


def model_table(study: Study, variant: str, cases: Sequence[Case]) -> Table:
    """End-to-end results of every model and phase, cases side by side."""
    shown = ("t3", REPRODUCED, "t3-critical", "ideal-overlap")
    headings = ["model", "TP", "phase"]
    for case in cases:
        headings += [f"sequential, {case.label} (ms)", f"comm. share, {case.label} (%)"]
    headings += [f"{name}, {case.label} (x)" for name in shown for case in cases]
    rows = []
    for phase in study.models["phase"].unique():
        time, share, speedup = (
            {case: study.model_points(column, case, phase, variant=variant) for case in cases}
            for column in ("model_ms", "communication_share", "speedup")
        )
        for point in time[cases[0]].index:
            row = [point[0], str(point[1]), phase]
            for case in cases:
                row += [
                    f"{time[case].loc[point, BASE]:,.1f}",
                    f"{100 * share[case].loc[point, BASE]:.1f}",
                ]
            row += [f"{speedup[case].loc[point, name]:.3f}" for name in shown for case in cases]
            rows.append(row)
    return Table(headings, rows, text_columns=3)


def layer_table(study: Study) -> Table:
    """Time of a layer in sequential execution, by kind of operator, in the first case with sliced
    attention.
    """
    columns = map(str, study.models.columns)
    kinds = [name for name in columns if re.fullmatch(r"layer_.+_ns", name)]
    words = (name.removeprefix("layer_").removesuffix("_ns").replace("_", " ") for name in kinds)
    headings = [
        "model",
        "TP",
        "phase",
        f"layer, {study.cases[0].label} (µs)",
        *(f"{name} (%)" for name in words),
    ]
    rows = []
    for phase in study.models["phase"].unique():
        wide = {
            name: study.model_points(name, study.cases[0], phase)[BASE]
            for name in ("layer_ns", *kinds)
        }
        layers = wide["layer_ns"]
        for (model, tp), whole in zip(layers.index, layers, strict=True):
            shares = (100 * wide[name][model, tp] / whole for name in kinds)
            parts = (f"{share:.1f}" for share in shares)
            rows.append([model, str(tp), phase, f"{whole / 1e3:,.0f}", *parts])
    return Table(headings, rows, text_columns=3)


def operator_table(operators: pd.DataFrame) -> Table:
    """Format a table in its given order: text columns left, numbers to three significant digits."""
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
    """Efficiency of the GEMM alone over K, in our model and in a tuned library."""
    names = list(study.efficiency[0][1])
    rows = [
        [str(k), f"{100 * library:.1f}"]
        + [
            text
            for name in names
            for text in (f"{100 * ours[name]:.1f}", signed(100 * (ours[name] - library)))
        ]
        for k, ours, library in study.efficiency
    ]
    headings = ["K", "tuned library (%)"]
    for name in names:
        headings += [f"model, {name} (%)", f"difference, {name} (points)"]
    return Table(headings, rows, text_columns=0)


def shape_table(study: Study) -> Table:
    """Models, with the confidence and the source of their shapes."""
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
        for model in known_models()
        if model.name in used
    )
    headings = ("model", "hidden", "layers", "tokens", "TP", "confidence:", "source:")
    return Table(headings, list(rows))
