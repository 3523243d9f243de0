"""Runs what the evaluation consists of."""

from pathlib import Path

import pandas as pd

from sysmodel.config.system import System, load_system
from sysmodel.config.workload import known_workloads
from sysmodel.lib.progress import Report, shown_progress
from sysmodel.runs.report import library_efficiency
from sysmodel.runs.result import EngineName, RunOptions
from sysmodel.runs.simulate import run
from t3.experiments.efficiency import gemm_efficiency
from t3.experiments.sweep.display import Display
from t3.experiments.sweep.grid import load_grid
from t3.experiments.sweep.run import sweep
from t3.experiments.transformer.bert import bert_breakdown, by_setting
from t3.experiments.transformer.end_to_end import VARIANTS, end_to_end

from .study import Study
from .variation import measure_variation

__all__ = ["SENSITIVITY", "measure"]

_HERE = Path(__file__).parent
SENSITIVITY = "sensitivity"  # folder of the second sweep, inside that of the first
_SHOWN = known_workloads().workload("t-nlg", "fc2", 8)
_DEPTHS = (128, 256, 512, 1024, 2048, 4096)


def measure(out: Path, engine: EngineName, workers: int | None, scheduler: str | None) -> Study:
    """Simulate the evaluation; what ``out`` holds already is not simulated again.

    Parameters
    ----------
    out : Path
        Folder of the sweeps' tables.
    engine : "rtl" or "golden"
    workers, scheduler
        As for ``sweep``.

    Raises
    ------
    InputError, SimulationError
        As for ``sweep``.
    """
    system = load_system()
    # The engines give the same table, and a new geometry of the hardware is a build of the RTL.
    grids = [
        (load_grid(_HERE / "paper.toml", engine=engine), out),
        (load_grid(_HERE / f"{SENSITIVITY}.toml", engine="golden"), out / SENSITIVITY),
    ]
    tables = []
    for grid, folder in grids:
        with Display(folder) as display:
            tables.append(sweep(grid, folder, scheduler=scheduler, workers=workers, report=display))
    with shown_progress() as progress:
        efficiency = _efficiency(system, engine, progress)
        options = RunOptions(engine=engine, configurations=("t3", "t3-mca"))
        timelines = run(_SHOWN, system, options, progress).timelines
        variation = measure_variation(system, progress)
    return Study(
        table=tables[0],
        sensitivity=tables[1],
        models=pd.concat([end_to_end(tables[0], system, variant=one) for one in VARIANTS]),
        operators=by_setting(bert_breakdown(system)),
        variation=variation,
        efficiency=efficiency,
        timelines=timelines,
        system=system,
        engine=engine,
    )


def _efficiency(
    system: System, engine: EngineName, progress: Report
) -> list[tuple[int, float, float]]:
    """K, and the share of the peak that our GEMM and a tuned library's reach."""
    found = []
    for done, k in enumerate(_DEPTHS):
        progress("GEMM alone", done / len(_DEPTHS))
        ours = gemm_efficiency(system, _SHOWN.m, _SHOWN.n, k, engine)
        found.append((k, ours, library_efficiency(k)))
    return found
