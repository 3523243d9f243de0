"""Whole model with and without T3: its all-reduced sublayers are simulated, the rest is timed."""

from pathlib import Path
from typing import TYPE_CHECKING

from sysmodel.config.model import Transformer, load_model
from sysmodel.config.system import System
from sysmodel.config.workload import DtypeName
from sysmodel.lib.errors import InputError
from sysmodel.runs.engines import EngineName
from sysmodel.runs.options import RunOptions
from sysmodel.runs.runnable import with_rivals
from t3.experiments.sweep.grid import make_grid
from t3.experiments.sweep.run import sweep
from t3.experiments.sweep.status import Report

from .end_to_end import VARIANTS, end_to_end

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CONFIGURATIONS", "OTHER_PARTS", "SIMULATED_PARTS", "whole_model"]

CONFIGURATIONS = ("sequential", "t3", "t3-critical", "ideal-overlap")
"""Configurations to compare, beside the rivals that can run on the system; the last has no
contention between GEMM and reduce-scatter."""

SIMULATED_PARTS = {
    "layer_all_reduced_gemm_ns": "GEMMs before an all-reduce",
    "layer_communication_ns": "all-reduce on top",
}
"""Columns of a layer's time in which the configurations differ, with their titles."""

OTHER_PARTS = {
    "layer_gemm_ns": "other GEMMs",
    "layer_attention_gemm_ns": "GEMMs of attention",
    "layer_attention_ns": "softmax and its like",
    "layer_normalisation_ns": "normalisation",
    "layer_activation_ns": "activations, residuals, routing",
    "layer_optimizer_ns": "optimizer",
}
"""Columns of a layer's time that are the same in all configurations, with their titles."""


def whole_model(
    model: str | Path,
    tp: int,
    system: System,
    out: Path,
    *,
    dtype: DtypeName = "fp16",
    engine: EngineName,
    workers: int | None = None,
    report: Report = lambda status: None,
) -> "pd.DataFrame":
    """Time of a training step and of a prompt of a model's layers, by kind of operator.

    Parameters
    ----------
    model : str or Path
        Name or file of a Transformer.
    tp : int
        GPUs that share each layer.
    dtype : str
        Format of operands and outputs.
    out : Path
        Folder that stores the simulated sublayers.
    engine, workers, report
        See :func:`~t3.experiments.sweep.run.sweep`.

    Returns
    -------
    DataFrame
        Result of :func:`~.end_to_end.end_to_end`.

    Raises
    ------
    InputError
        The model is a list of GEMMs, or has layers whose operators are not counted; or as for the
        sweep.
    """
    loaded = load_model(model)
    if not isinstance(loaded, Transformer):
        raise InputError("model", f"{loaded.name} is a list of GEMMs; allowed: a Transformer")
    if loaded.sublayers is not None:
        raise InputError("model", f"{loaded.name} has layers whose operators are not counted")
    works = [loaded.workload(layer, tp, dtype=dtype) for layer in loaded.reduced]
    options = RunOptions(engine=engine)
    configurations = with_rivals(works[0], system, options, CONFIGURATIONS)
    block = {
        "workload": {"model": model, "tp": tp, "dtype": dtype},
        "system": {"base": system},
        "run": {"engine": engine, "configurations": list(configurations)},
    }
    grid = make_grid({"title": loaded.name, "grid": [block]}, where="model", folder=Path())
    table = sweep(grid, out, workers=workers, report=report)
    return end_to_end(table, system, variant=VARIANTS[0], own=[loaded])
