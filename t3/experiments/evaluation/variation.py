"""How sure the evaluation's differences are: a few sublayers, repeated."""

from collections.abc import Sequence

import pandas as pd

from sysmodel.config.model import workload_of
from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.lib.progress import Report
from sysmodel.runs.comparison import Spread, spreads
from sysmodel.runs.configurations import registry
from sysmodel.runs.result import CONFIGURATIONS, RunOptions
from sysmodel.runs.simulate import run

__all__ = ["COMPARED", "OVER", "SUBLAYERS", "measure_variation", "variation"]

SUBLAYERS: tuple[tuple[str, str, int], ...] = (
    ("t-nlg", "fc2", 8),
    ("t-nlg", "op", 16),
    ("mega-gpt-2", "ip", 16),
)
"""Model, layer and TP: bound by the GEMM, by the reduce-scatter, and in between."""

COMPARED = tuple(name for name in CONFIGURATIONS if registry.CONFIGURATIONS[name].tracked)
_REPETITIONS = 8
OVER = "over_round_robin"
"""Columns of the time over that of ``t3``, less 1."""


def measure_variation(
    system: System,
    progress: Report,
    *,
    configurations: Sequence[str] = COMPARED,
    sublayers: Sequence[Workload] | None = None,
    repetitions: int = _REPETITIONS,
) -> pd.DataFrame:
    """Repeat some sublayers with what a real machine varies, by the golden engine.

    Parameters
    ----------
    configurations : sequence of str
        What is compared, ``t3`` among it; unless given, T3 with every policy.
    sublayers : sequence of Workload, optional
        ``SUBLAYERS`` unless given.
    repetitions : int
        At least 2.

    Returns
    -------
    DataFrame
        A row for each sublayer and configuration: mean, least and most of ``speedup`` and of
        ``over_round_robin``, the total time over that of ``t3`` in the same repetition, less 1.
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
        for one in spreads(run(work, system, options, progress).repetitions)
    ]
    measured: pd.DataFrame = pd.DataFrame(rows)
    return measured


def _columns(name: str, spread: Spread | None) -> dict[str, float]:
    values = {} if spread is None else vars(spread)
    return {f"{name}_{part}": values.get(part, float("nan")) for part in ("mean", "least", "most")}


def variation(measured: pd.DataFrame, configuration: str) -> float:
    """Share of the total time below which a configuration's difference to ``t3`` says nothing: its
    largest range over the repetitions of a sublayer that was measured."""
    rows = measured[measured["configuration"] == configuration]
    return float((rows[f"{OVER}_most"] - rows[f"{OVER}_least"]).max())
