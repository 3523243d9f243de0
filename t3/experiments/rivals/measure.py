"""Sweep over pairs of GEMMs of today's models, on GPUs of today, by T3 and by its rivals."""

from pathlib import Path
from typing import Any

import pandas as pd

from sysmodel.config.model import Transformer, load_model
from t3.experiments.sweep.display import Display
from t3.experiments.sweep.grid import Grid, make_grid
from t3.experiments.sweep.run import sweep

from .pairs import LAYERS, pair

__all__ = ["BEST", "BOUND", "GPUS", "PAYLOAD", "RIVALS", "matrix", "measure"]

GPUS = 8
RIVALS = ("sequential", "library", "fused", "chunked", "two-batch")
BEST, BOUND = "t3-critical", "ideal"
PAYLOAD = "link.t3_payload_bytes"

_MODELS = ("llama-3-70b", "llama-3-405b", "qwen2.5-72b")
_SYSTEMS = ("h200", "b200", "mi300x")
# Bytes of T3's packets: those of the present hardware, with the rivals beside; then wider ones.
_CONFIGURATIONS = {32: (*RIVALS, BEST, BOUND), 256: (RIVALS[0], BEST)}


def matrix() -> Grid:
    """Grid of all pairs and systems."""
    blocks = []
    for name in _MODELS:
        model = load_model(name)
        assert isinstance(model, Transformer)
        for layer in LAYERS:
            workload = {"model": name, "layer": layer, "tp": GPUS}
            program = pair(model, layer, GPUS)
            for payload_bytes, configurations in _CONFIGURATIONS.items():
                run: dict[str, Any] = {
                    "engine": "golden",
                    "program": program,
                    "configurations": list(configurations),
                }
                system = {"base": list(_SYSTEMS), PAYLOAD: payload_bytes}
                blocks.append({"workload": workload, "system": system, "run": run})
    content = {"title": "T3 and its rivals on today's GPUs", "grid": blocks}
    return make_grid(content, where="rivals", folder=Path())


def measure(out: Path, workers: int | None, scheduler: str | None) -> pd.DataFrame:
    """Simulate the points that ``out`` does not hold already, by the golden engine.

    Raises
    ------
    InputError, SimulationError
        See ``sweep``.
    """
    with Display(out, "rivals") as display:
        return sweep(matrix(), out, scheduler=scheduler, workers=workers, report=display)
