"""Measurements of the evaluation: its sweeps and single runs."""

from pathlib import Path

import pandas as pd

from sysmodel.config.model import workload_of
from sysmodel.config.system import load_system
from sysmodel.lib.progress import Report
from sysmodel.runs.engines import EngineName
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from sysmodel.runs.tuned_library import library_efficiency
from t3.experiments.efficiency import gemm_efficiency
from t3.experiments.sweep.display import Display
from t3.experiments.sweep.grid import load_grid
from t3.experiments.sweep.run import sweep
from t3.experiments.transformer.bert import bert_breakdown, by_setting
from t3.experiments.transformer.end_to_end import VARIANTS, end_to_end
from t3.report.progress import shown_progress

from .engines import check_engines
from .study import REPRODUCED, Study
from .variation import measure_variation

__all__ = ["RTL", "SENSITIVITY", "measure", "models_of"]

_HERE = Path(__file__).parent
SENSITIVITY, RTL = "sensitivity", "rtl"  # folders of further sweeps, in the matrix's folder
_STAGES = "asplos24-stages"
_SHOWN = workload_of("t-nlg", "fc2", 8)
_DEPTHS = (128, 256, 512, 1024, 2048, 4096)


def measure(out: Path, engine: EngineName, workers: int | None, scheduler: str | None) -> Study:
    """Simulate the evaluation by the golden engine; results that ``out`` holds already are not
    simulated again.

    Parameters
    ----------
    out : Path
        Folder of the sweeps' tables.
    engine : "rtl" or "golden"
        With ``rtl``, the RTL also simulates a part of the evaluation, and must give the same
        results.
    workers, scheduler
        See ``sweep``.

    Raises
    ------
    InputError, SimulationError
        See ``sweep``; the engines differ.
    """
    system = load_system()
    names = ["paper", *([RTL] if engine == "rtl" else []), SENSITIVITY]

    def swept(name: str, folder: Path, by: EngineName) -> pd.DataFrame:
        grid = load_grid(_HERE / f"{name}.toml", engine=by)
        title = f"{name}, sweep {names.index(name) + 1} of {len(names)}"
        with Display(folder, title) as display:
            return sweep(grid, folder, scheduler=scheduler, workers=workers, report=display)

    table = swept("paper", out, "golden")
    rtl = table[:0]
    if engine == "rtl":
        rtl = swept(RTL, out / RTL, "rtl")
        check_engines(table, rtl)
    sensitivity = swept(SENSITIVITY, out / SENSITIVITY, "golden")
    with shown_progress() as progress:
        efficiency = _efficiency(progress)
        options = RunOptions(engine="golden", configurations=("t3", REPRODUCED))
        timelines = simulate(Plan(_SHOWN, load_system(_STAGES), options), progress).timelines
        variation = measure_variation(system, progress)
    return Study(
        table=table,
        rtl=rtl,
        sensitivity=sensitivity,
        models=models_of(table),
        operators=by_setting(bert_breakdown(system)),
        variation=variation,
        efficiency=efficiency,
        timelines=timelines,
        system=system,
    )


def models_of(table: pd.DataFrame) -> pd.DataFrame:
    """Results of ``end_to_end`` for a matrix, on each of its presets and in both variants."""
    models: pd.DataFrame = pd.concat(
        [
            end_to_end(rows, load_system(str(name)), variant=one).assign(system=name)
            for one in VARIANTS
            for name, rows in table.groupby("system", sort=False)
        ]
    )
    return models


def _efficiency(progress: Report) -> list[tuple[int, dict[str, float], float]]:
    """List K with the shares of the peak that our GEMM, by dispatch, and a tuned library reach."""
    systems = [load_system(), load_system(_STAGES)]
    found = []
    for done, k in enumerate(_DEPTHS):
        progress("GEMM alone", done / len(_DEPTHS))
        ours: dict[str, float] = {
            one.gpu.dispatch: gemm_efficiency(one, _SHOWN.m, _SHOWN.n, k) for one in systems
        }
        found.append((k, ours, library_efficiency(k)))
    return found
