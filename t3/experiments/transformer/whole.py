"""A whole model with and without T3: its all-reduced sublayers simulated, everything else timed."""

from pathlib import Path
from typing import TYPE_CHECKING

from sysmodel.config.model import Transformer, load_model
from sysmodel.config.system import load_system
from sysmodel.lib.errors import InputError
from sysmodel.runs.result import EngineName
from t3.experiments.sweep.grid import make_grid
from t3.experiments.sweep.run import sweep
from t3.experiments.sweep.status import Report

from .end_to_end import VARIANTS, end_to_end

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CONFIGURATIONS", "PARTS", "whole_model"]

CONFIGURATIONS = ("sequential", "t3", "t3-critical", "ideal-overlap")
"""What is compared, the last without contention between GEMM and reduce-scatter."""

PARTS = {
    "layer_all_reduced_gemm_ns": "GEMMs before an all-reduce",
    "layer_communication_ns": "communication on top of them",
    "layer_gemm_ns": "other GEMMs",
    "layer_attention_gemm_ns": "GEMMs of attention",
    "layer_attention_ns": "softmax and its like",
    "layer_normalisation_ns": "normalisation",
    "layer_activation_ns": "activations, residuals, routing",
    "layer_optimizer_ns": "optimizer",
}
"""Columns of a layer's time, and what each is."""


def whole_model(
    model: str,
    tp: int,
    system: str,
    out: Path,
    *,
    engine: EngineName,
    workers: int | None = None,
    report: Report = lambda status: None,
) -> "pd.DataFrame":
    """Time of a training step and of a prompt of a model's layers, by kind of operator.

    Parameters
    ----------
    model : str
        Name or file of a Transformer.
    tp : int
        GPUs that share each layer.
    system : str
        Preset or file.
    out : Path
        Folder in which the simulated sublayers are kept.
    engine, workers, report
        As of :func:`~t3.experiments.sweep.run.sweep`.

    Returns
    -------
    DataFrame
        As of :func:`~.end_to_end.end_to_end`.

    Raises
    ------
    InputError
        The model is a list of GEMMs, or has layers whose operators are not counted, or of a sweep.
    """
    loaded = load_model(model)
    if not isinstance(loaded, Transformer):
        raise InputError("model", f"{loaded.name} is a list of GEMMs; allowed: a Transformer")
    if loaded.sublayers is not None:
        raise InputError("model", f"{loaded.name} has layers whose operators are not counted")
    loaded_system = load_system(system)
    for layer in loaded.reduced:
        loaded.workload(layer, tp)  # or it says what is wrong
    block = {
        "workload": {"model": model, "tp": tp},
        "system": {"base": system},
        "run": {"engine": engine, "configurations": list(CONFIGURATIONS)},
    }
    grid = make_grid({"title": loaded.name, "grid": [block]}, where="model", folder=Path())
    table = sweep(grid, out, workers=workers, report=report)
    return end_to_end(table, loaded_system, variant=VARIANTS[0], own=[loaded])
