"""Variation of the evaluation's differences: a few sublayers, repeated."""

from collections.abc import Sequence
from dataclasses import fields

import pandas as pd

from sysmodel.config.model import workload_of
from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.lib.progress import Report
from sysmodel.runs.comparison import Spread, spreads
from sysmodel.runs.configurations import registry
from sysmodel.runs.options import CONFIGURATIONS, RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate

__all__ = ["COMPARED", "OVER", "SUBLAYERS", "measure_variation", "spread_columns", "variation"]

SUBLAYERS: tuple[tuple[str, str, int], ...] = (
    ("t-nlg", "fc2", 8),
    ("t-nlg", "op", 16),
    ("mega-gpt-2", "ip", 16),
)
"""Model, layer and TP: bound by the GEMM, by the reduce-scatter, and in between."""

COMPARED = tuple(
    name
    for name in CONFIGURATIONS
    if registry.CONFIGURATIONS[name].tracked and not registry.CONFIGURATIONS[name].direct
)
_REPETITIONS = 8
OVER = "over_round_robin"
"""Columns of the time over the time of ``t3``, minus 1."""


def measure_variation(
    system: System,
    progress: Report,
    *,
    configurations: Sequence[str] = COMPARED,
    sublayers: Sequence[Workload] | None = None,
    repetitions: int = _REPETITIONS,
) -> pd.DataFrame:
    """Repeat some sublayers with the variation of a real machine, by the golden engine.

    Parameters
    ----------
    configurations : sequence of str
        Configurations to compare, ``t3`` among them; T3 with every policy unless given.
    sublayers : sequence of Workload, optional
        ``SUBLAYERS`` unless given.
    repetitions : int
        At least 2.

    Returns
    -------
    DataFrame
        A row for each sublayer and configuration: mean, least and most of ``speedup`` and of
        ``over_round_robin``, the total time over the total time of ``t3`` in the same repetition,
        minus 1.
    """
    if sublayers is None:
        sublayers = [workload_of(*one) for one in SUBLAYERS]
    options = RunOptions(engine="golden", configurations=tuple(configurations), repeat=repetitions)
    rows = [
        {"model": work.model, "tp": work.tp, "layer": work.layer}
        | {"configuration": one.configuration}
        | _columns("speedup", one.speedup)
        | _columns(OVER, one.over_round_robin)
        for work in sublayers
        for one in spreads(simulate(Plan(work, system, options), progress).repetitions)
    ]
    measured: pd.DataFrame = pd.DataFrame(rows)
    return measured


def spread_columns(name: str) -> dict[str, str]:
    """Columns for the mean and the range of a quantity, each with its field of a spread."""
    return {f"{name}_{one.name}": one.name for one in fields(Spread)}


def _columns(name: str, spread: Spread | None) -> dict[str, float]:
    columns = spread_columns(name)
    return {column: getattr(spread, part, float("nan")) for column, part in columns.items()}


def variation(measured: pd.DataFrame, configuration: str) -> float:
    """Smallest significant difference of a configuration from ``t3``, as a share of the total time:
    the largest range over the repetitions of any measured sublayer.
    """
    rows = measured[measured["configuration"] == configuration]
    return float((rows[f"{OVER}_most"] - rows[f"{OVER}_least"]).max())
