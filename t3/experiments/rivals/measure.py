"""Sweep over pairs of GEMMs of today's models, on GPUs of today, by T3 and by its rivals."""

from pathlib import Path
from typing import Any

import pandas as pd

from sysmodel.config.model import Transformer, load_model
from t3.experiments.sweep.display import Display
from t3.experiments.sweep.grid import Grid, make_grid
from t3.experiments.sweep.run import sweep

from .pairs import LAYERS, pair

__all__ = ["BEST", "BOUND", "GPUS", "RIVALS", "TRACKED", "matrix", "measure"]

GPUS = 8
RIVALS = ("sequential", "library", "fused", "chunked", "two-batch")
TRACKED = ("t3-critical", "t3-halves")
"""Configurations of T3."""
BEST, BOUND = TRACKED[-1], "ideal"

_MODELS = ("llama-3-8b", "llama-3-70b", "llama-3-405b")
_TOKENS = 4096  # of a batch

_ON_SWITCH = (*RIVALS, *TRACKED, BOUND)
# Configurations by system. On a full mesh RCCL runs what ``sequential`` runs; docs/fused.md says
# why a fused GEMM is left out.
_CONFIGURATIONS = {
    "h200": _ON_SWITCH,
    "b200": _ON_SWITCH,
    "mi300x": ("sequential", "chunked", "two-batch", *TRACKED, BOUND),
}


def matrix() -> Grid:
    """Grid of all pairs and systems."""
    blocks = [
        {
            "workload": {"model": name, "layer": layer, "tp": GPUS, "tokens": _TOKENS},
            "system": {"base": base},
            "run": {
                "engine": "golden",
                "program": pair(_transformer(name), layer, GPUS),
                "configurations": list(names),
            },
        }
        for name in _MODELS
        for layer in LAYERS
        for base, names in _CONFIGURATIONS.items()
    ]
    content: dict[str, Any] = {"title": "T3 and its rivals on today's GPUs", "grid": blocks}
    return make_grid(content, where="rivals", folder=Path())


def _transformer(name: str) -> Transformer:
    model = load_model(name)
    assert isinstance(model, Transformer)
    return model.model_copy(update={"sequence": _TOKENS, "batch": 1})


def measure(out: Path, workers: int | None, scheduler: str | None) -> pd.DataFrame:
    """Simulate the points that ``out`` does not hold already, by the golden engine.

    Raises
    ------
    InputError, SimulationError
        See ``sweep``.
    """
    with Display(out, "rivals") as display:
        return sweep(matrix(), out, scheduler=scheduler, workers=workers, report=display)
