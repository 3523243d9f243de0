"""How sure the evaluation's differences are: a few sublayers, repeated."""

from collections.abc import Sequence

import pandas as pd

from sysmodel.config.system import System
from sysmodel.config.workload import Workload, known_workloads
from sysmodel.lib.progress import Report
from sysmodel.runs.comparison import ROUND_ROBIN, Spread, spreads
from sysmodel.runs.configurations import registry
from sysmodel.runs.result import CONFIGURATIONS, RunOptions
from sysmodel.runs.simulate import run

from .tables.table import Table

__all__ = ["COMPARED", "SUBLAYERS", "measure_variation", "variation", "variation_table"]

SUBLAYERS: tuple[tuple[str, str, int], ...] = (
    ("t-nlg", "fc2", 8),
    ("t-nlg", "op", 16),
    ("mega-gpt-2", "ip", 16),
)
"""Model, layer and TP: bound by the GEMM, by the reduce-scatter, and in between."""

COMPARED = tuple(name for name in CONFIGURATIONS if registry.CONFIGURATIONS[name].tracked)
_REPETITIONS = 8
_OVER = "over_round_robin"


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
        sublayers = [known_workloads().workload(*one) for one in SUBLAYERS]
    options = RunOptions(engine="golden", configurations=tuple(configurations), repeat=repetitions)
    rows = [
        {"model": work.model, "tp": work.tp, "layer": work.layer}
        | {"configuration": one.configuration}
        | _columns("speedup", one.speedup)
        | _columns(_OVER, one.over_round_robin)
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
    return float((rows[f"{_OVER}_most"] - rows[f"{_OVER}_least"]).max())


def variation_table(measured: pd.DataFrame) -> Table:
    """Speedup and difference to round-robin of every sublayer that was repeated."""
    headings = ["model", "TP", "layer", "configuration"]
    headings += ["speedup, mean (x)", "least (x)", "most (x)"]
    headings += [f"time over `{ROUND_ROBIN}`, mean (%)", "least (%)", "most (%)"]
    rows = []
    for _, one in measured.iterrows():
        differences = [one[f"{_OVER}_{part}"] for part in ("mean", "least", "most")]
        rows.append(
            [one["model"], str(one["tp"]), one["layer"], f"`{one['configuration']}`"]
            + [f"{one[f'speedup_{part}']:.3f}" for part in ("mean", "least", "most")]
            + [f"{100 * difference:+.2f}" for difference in differences]
        )
    return Table(headings, rows, text_columns=4)
