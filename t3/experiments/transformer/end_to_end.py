"""Time of a whole model with each configuration of its sublayers."""

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from sysmodel.config.model import Transformer, known_models
from sysmodel.config.schema import validate
from sysmodel.config.system import System
from sysmodel.lib.errors import InputError
from sysmodel.runs.rivals import rivals_among

from .layer import backward, forward
from .operators import KINDS, LayerShape, Operator
from .optimizer import adam
from .timing import time_by_kind

__all__ = ["PHASES", "VARIANTS", "end_to_end"]

PHASES = ("training", "prompt")
VARIANTS = ("megatron", "attention unsliced")
_BASE = "sequential"
_POINT = ["model", "tp"]
_SHAPE = ["m", "n", "k"]
_TIMES = ["gemm_ns", "exposed_communication_ns"]


def end_to_end(
    table: pd.DataFrame,
    system: System,
    *,
    variant: str = "megatron",
    own: Sequence[Transformer] = (),
) -> pd.DataFrame:
    """Time of every model of a sweep's table, in training and in prompt inference.

    The all-reduced sublayers take the time that was simulated, everything else the time of
    ``timing.operator_ns``; operators follow one another. Training is a forward pass, a backward
    pass and an update of the weights by Adam; a prompt is a forward pass without dropout.

    Parameters
    ----------
    table : DataFrame
        A sweep's result, a row for each sublayer and configuration. Columns whose names have a dot
        are keys of the system that vary.
    system : System
        System whose values hold unless the table has others.
    variant : str
        ``megatron``: attention is sliced by heads; ``attention unsliced``: every GPU computes
        scores, softmax, dropout and context of all heads, which is reported of the operator mix
        that the paper measured.
    own : sequence of Transformer
        Models of the table that are not bundled.

    Returns
    -------
    DataFrame
        A row for each model, degree of tensor parallelism, values of the system's keys, phase and
        configuration. ``layer_*_ns`` are one layer's times on one GPU and sum to ``layer_ns``:
        ``layer_all_reduced_gemm_ns`` and ``layer_communication_ns`` are the simulated sublayers'
        GEMMs and the time that RS and AG add to them; ``layer_gemm_ns`` are the other GEMMs.
        ``model_ms`` is all layers; ``speedup`` is over ``sequential``, ``speedup_over_rival`` over
        the fastest configuration without T3. ``communication_share`` is the share of the time that
        exposed RS and AG take, ``sliced_gemm_rs_ag_share`` the share of the all-reduced sublayers,
        GEMM and communication.

    Raises
    ------
    InputError
        A column or a sublayer is missing or occurs twice, or the shape of a sublayer differs from
        the model.
    """
    if variant not in VARIANTS:
        raise InputError("variant", f"{variant!r} is not allowed; allowed: {', '.join(VARIANTS)}")
    varied = [name for name in table.columns if "." in name]
    needed = [*_POINT, "layer", *_SHAPE, "configuration", *_TIMES]
    for name in needed:
        if name not in table.columns:
            raise InputError("table", f"column {name!r} is missing")
    if table.empty:
        raise InputError("table", "has no rows")
    models = {model.name: model for model in (*known_models(), *own)}
    rows: list[dict[str, Any]] = []
    key: Any  # a tuple, because the columns are a list
    for key, point in table.groupby([*_POINT, *varied], sort=False, dropna=False):
        name, tp, *values = key
        if name not in models:
            raise InputError("table", f"model {name!r} is not known; allowed: {', '.join(models)}")
        given = dict(zip(varied, values, strict=True))
        where = ", ".join([f"{name} TP {tp}", *(f"{k} = {v}" for k, v in given.items())])
        labels = {"model": name, "tp": tp, **given, "variant": variant}
        rows += [
            labels | row
            for row in _point_rows(
                point, models[name], int(tp), _with(system, given), variant, where
            )
        ]
    result: pd.DataFrame = pd.DataFrame(rows)
    return result


def _point_rows(
    point: pd.DataFrame, model: Transformer, tp: int, system: System, variant: str, where: str
) -> list[dict[str, Any]]:
    shape = LayerShape.of(model, tp, attention_tp=tp if variant == "megatron" else 1)
    passes = {
        "training": [
            *forward(shape),
            *backward(shape),
            adam(shape.parameters, shape.precision),
        ],
        "prompt": [*forward(shape, training=False)],
    }
    if _BASE not in set(point["configuration"]):
        raise InputError("table", f"{where}: lacks configuration {_BASE}")
    rows = []
    for phase in PHASES:
        reduced = [one for one in passes[phase] if one.sublayer]
        rest = [one for one in passes[phase] if not one.sublayer]
        others = time_by_kind(rest, system)
        others = {f"layer_{kind.replace(' ', '_')}_ns": others.get(kind, 0.0) for kind in KINDS}
        simulated = {
            str(name): _simulated(reduced, rows_of, f"{where}, {name}")
            for name, rows_of in point.groupby("configuration", sort=False)
        }
        layers = {name: sum(times) + sum(others.values()) for name, times in simulated.items()}
        rival_ns = min(layers[name] for name in rivals_among(layers))
        for name, (gemm_ns, communication_ns) in simulated.items():
            layer_ns = layers[name]
            rows.append(
                {
                    "phase": phase,
                    "configuration": name,
                    "layer_all_reduced_gemm_ns": gemm_ns,
                    "layer_communication_ns": communication_ns,
                    **others,
                    "layer_ns": layer_ns,
                    "model_ms": layer_ns * model.layers / 1e6,
                    "speedup": layers[_BASE] / layer_ns,
                    "speedup_over_rival": rival_ns / layer_ns,
                    "communication_share": communication_ns / layer_ns,
                    "sliced_gemm_rs_ag_share": (gemm_ns + communication_ns) / layer_ns,
                }
            )
    return rows


def _simulated(reduced: list[Operator], rows: pd.DataFrame, where: str) -> tuple[float, float]:
    """Time of the all-reduced sublayers' GEMMs, and of their communication on top."""
    of_layer: dict[object, list[dict[str, Any]]] = {}
    for row in rows[["layer", *_SHAPE, *_TIMES]].to_dict("records"):
        of_layer.setdefault(row["layer"], []).append(row)
    gemm_ns = communication_ns = 0.0
    for one in reduced:
        found = of_layer.get(one.sublayer, [])
        if len(found) != 1:
            problem = "has twice" if found else "lacks"
            raise InputError("table", f"{where}: {problem} layer {one.sublayer}")
        (row,) = found
        assert one.gemm is not None  # every all-reduced sublayer is a GEMM
        ours = (one.gemm.m, one.gemm.n, one.gemm.k)
        if tuple(row[name] for name in _SHAPE) != ours:
            raise InputError(
                "table",
                f"{where}: {one.sublayer} is {row['m']} x {row['n']} x {row['k']}; "
                f"the model's is {ours[0]} x {ours[1]} x {ours[2]:g}",
            )
        gemm_ns += one.gemm.count * float(row["gemm_ns"])
        communication_ns += one.gemm.count * float(row["exposed_communication_ns"])
    return gemm_ns, communication_ns


def _with(system: System, values: dict[str, Any]) -> System:
    """Return the system with other values for the given keys, named by dotted paths.

    Keys without a value (NaN) stay; lists are given as their JSON text.
    """
    data = system.model_dump()
    for path, value in values.items():
        if pd.isna(value):
            continue
        *sections, last = path.split(".")
        place: Any = data
        for section in sections:
            place = place.get(section) if isinstance(place, dict) else None
        if not isinstance(place, dict) or last not in place:
            raise InputError("table", f"column {path!r} is not a key of a system")
        place[last] = _plain(value, place[last])
    return validate(System, data, "table")


def _plain(value: Any, was: Any) -> Any:
    """Convert a table's value to the type in a TOML file; pandas converts whole columns to
    floats.
    """
    if isinstance(was, (list, tuple)) and isinstance(value, str):
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return value  # the system's own check refuses the value with its key
    value = value.item() if hasattr(value, "item") else value
    if isinstance(was, int) and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
