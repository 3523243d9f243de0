"""Metrics: the number for each claim of the paper, from our measurements.

Every function takes the study and the case, and further arguments by keyword. A value that was not
measured in that case is NaN. Speedups and ratios are plain numbers, changes are percent.
G, RS and AG are the times of GEMM, reduce-scatter and all-gather in ``sequential``.
"""

from collections.abc import Callable
from functools import reduce
from operator import add

import numpy as np
import pandas as pd

from sysmodel.runs.columns import SUBLAYER

from .study import BASE, REPRODUCED, Case, Study

__all__ = ["METRICS", "geomean"]

_STATISTICS: dict[str, Callable[[np.ndarray], float]] = {
    "geomean": lambda values: float(np.exp(np.log(values).mean())),
    "mean": lambda values: float(values.mean()),
    "max": lambda values: float(values.max()),
    "min": lambda values: float(values.min()),
}
_LAYERS: dict[str, tuple[str, ...] | None] = {
    "all": None,
    "op": ("op",),
    "fc": ("fc1", "fc2"),
    "ip": ("ip",),
}


def _statistic(name: str, ratios: pd.Series) -> float:
    return _STATISTICS[name](ratios.to_numpy(float)) if len(ratios) else float("nan")


def geomean(values: pd.Series) -> float:
    """Geometric mean; NaN without values."""
    return _statistic("geomean", values)


def speedup(
    study: Study,
    case: Case,
    *,
    configuration: str,
    statistic: str,
    group: str = "main",
    layers: str = "all",
) -> float:
    """Statistic over sublayers of total(sequential) / total(configuration)."""
    total = study.points("total_ns", case, group=group, layers=_LAYERS[layers])
    return _statistic(statistic, _column(total, BASE) / _column(total, configuration))


def gain(
    study: Study,
    case: Case,
    *,
    configuration: str,
    over: str,
    statistic: str,
    group: str = "main",
    layers: str = "all",
) -> float:
    """100 · (statistic over sublayers of total(over) / total(configuration) - 1)."""
    total = study.points("total_ns", case, group=group, layers=_LAYERS[layers])
    return 100 * (_statistic(statistic, _column(total, over) / _column(total, configuration)) - 1)


def shortfall(
    study: Study,
    case: Case,
    *,
    configuration: str,
    statistic: str,
    group: str = "main",
    layers: str = "all",
) -> float:
    """Shortfall of the speedup from the ideal overlap, in percent.

    100 · (1 - s), s the statistic over sublayers of (max(G, RS - L) + AG) / total(configuration), L
    the launch of RS, which T3's does not pay; ``min`` of s is the largest shortfall.
    """
    gemm, alone, gather, total = (
        study.points(column, case, group=group, layers=_LAYERS[layers])
        for column in ("gemm_ns", "rs_ns", "ag_ns", "total_ns")
    )
    unlaunched = _column(alone, BASE) - study.system.gpu.kernel_launch_ns
    ideal: pd.Series = np.maximum(_column(gemm, BASE), unlaunched) + _column(gather, BASE)
    return 100 * (1 - _statistic(statistic, ideal / _column(total, configuration)))


def reduce_scatter_gain(study: Study, case: Case, *, group: str) -> float:
    """100 · (geomean over sublayers of RS / RS(ideal-rs-nmc) - 1): near-memory reduction alone.

    Both pay a launch.
    """
    alone = study.points("rs_ns", case, group=group)
    ratios = _column(alone, BASE) / _column(alone, "ideal-rs-nmc")
    return 100 * (geomean(ratios) - 1)


def traffic_saving(study: Study, case: Case, *, statistic: str, group: str = "main") -> float:
    """100 · statistic over sublayers of 1 - bytes(t3-mca-paper) / bytes(sequential), all traffic of
    the DRAM."""
    moved = study.points(SUBLAYER.dram["total"].key, case, group=group)
    savings = 1 - _column(moved, REPRODUCED) / _column(moved, BASE)
    return 100 * _statistic(statistic, savings)


def traffic_ratio(study: Study, case: Case, *, kinds: str, group: str = "main") -> float:
    """Geomean over sublayers of bytes(sequential) / bytes(t3-mca-paper).

    ``kinds`` are the categories that are added, separated by spaces, such as
    ``gemm_write rs_write``.
    """
    columns = (SUBLAYER.dram[kind].key for kind in kinds.split())
    moved = reduce(add, (study.points(column, case, group=group) for column in columns))
    return geomean(_column(moved, BASE) / _column(moved, REPRODUCED))


def traffic_cut(study: Study, case: Case, *, kinds: str, group: str = "main") -> float:
    """100 · (1 - 1 / r), r the ``traffic_ratio``: bytes that T3 saves of these categories."""
    return 100 * (1 - 1 / traffic_ratio(study, case, kinds=kinds, group=group))


def concurrent_ideal(study: Study, case: Case, *, statistic: str, group: str = "main") -> float:
    """Statistic over sublayers of (G + C) / max(G, C), C = RS + AG: the whole all-reduce concurrent
    with a GEMM that does not feed it.
    """
    gemm = _column(study.points("gemm_ns", case, group=group), BASE)
    communication = _all_reduce(study, case, group, BASE)
    ideal: pd.Series = (gemm + communication) / np.maximum(gemm, communication)
    return _statistic(statistic, ideal)


def all_reduce_slowdown(
    study: Study, case: Case, *, configuration: str, group: str = "main"
) -> float:
    """100 · (geomean over sublayers of (RS + AG)(configuration) / (RS + AG) - 1)."""
    ratios = _all_reduce(study, case, group, configuration) / _all_reduce(study, case, group, BASE)
    return 100 * (geomean(ratios) - 1)


def gemm_slowdown(study: Study, case: Case, *, configuration: str, group: str = "main") -> float:
    """100 · (geomean over sublayers of G(configuration) / G - 1)."""
    slower = study.points("gemm_slowdown", case, group=group)
    return 100 * (geomean(_column(slower, configuration)) - 1)


def doubled_compute_change(
    study: Study, case: Case, *, configuration: str, layers: str, group: str = "main"
) -> float:
    """100 · (geomean over sublayers of speedup with twice the CUs / speedup - 1)."""
    units = study.compute_units
    once, twice = (
        study.points("speedup", case, group=group, layers=_LAYERS[layers], compute_units=count)
        for count in (units, 2 * units)
    )
    if twice.empty:
        return float("nan")
    ratios = _column(twice, configuration) / _column(once, configuration)
    return 100 * (geomean(ratios) - 1)


def model_gain(
    study: Study,
    case: Case,
    *,
    configuration: str,
    phase: str,
    statistic: str,
    group: str = "main",
) -> float:
    """100 · (statistic over models of their end-to-end speedup - 1), attention sliced by heads."""
    speedups = study.model_points("speedup", case, phase, group=group)
    return 100 * (_statistic(statistic, _column(speedups, configuration)) - 1)


def communication_share(
    study: Study, case: Case, *, phase: str, group: str, compute: str = "as is"
) -> float:
    """100 · the largest share, over models, of a sequential model's time that is communication.

    ``compute`` is ``as is`` or ``doubled``.
    """
    units = study.compute_units * (2 if compute == "doubled" else 1)
    shares = study.model_points(
        "communication_share", case, phase, group=group, compute_units=units
    )
    return 100 * _statistic("max", _column(shares, BASE))


def _all_reduce(study: Study, case: Case, group: str, configuration: str) -> pd.Series:
    both = study.points("rs_ns", case, group=group) + study.points("ag_ns", case, group=group)
    return _column(both, configuration)


def _column(wide: pd.DataFrame, configuration: str) -> pd.Series:
    """Values of a configuration; empty if it was not measured."""
    return wide[configuration] if len(wide) else pd.Series(dtype=float)


METRICS: dict[str, Callable[..., float]] = {
    metric.__name__: metric
    for metric in (
        speedup,
        gain,
        shortfall,
        reduce_scatter_gain,
        traffic_saving,
        traffic_ratio,
        traffic_cut,
        concurrent_ideal,
        all_reduce_slowdown,
        gemm_slowdown,
        doubled_compute_change,
        model_gain,
        communication_share,
    )
}
