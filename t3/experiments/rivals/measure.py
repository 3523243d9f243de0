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
# Rivals on each system. On a full mesh RCCL runs what ``sequential`` runs, and docs/fused.md says
# why a fused GEMM is left out.
_SYSTEMS = {"h200": RIVALS, "b200": RIVALS, "mi300x": ("sequential", "chunked", "two-batch")}
_PRESENT_BYTES, _WIDER_BYTES = 32, 256  # payload of T3's packets: the hardware's, and wider ones


def matrix() -> Grid:
    """Grid of all pairs and systems."""
    blocks = []
    for name in _MODELS:
        model = load_model(name)
        assert isinstance(model, Transformer)
        for layer in LAYERS:
            workload = {"model": name, "layer": layer, "tp": GPUS}
            program = pair(model, layer, GPUS)
            for base, rivals in _SYSTEMS.items():
                for payload_bytes, names in (
                    (_PRESENT_BYTES, (*rivals, BEST, BOUND)),
                    (_WIDER_BYTES, (RIVALS[0], BEST)),
                ):
                    run: dict[str, Any] = {
                        "engine": "golden",
                        "program": program,
                        "configurations": list(names),
                    }
                    system = {"base": base, PAYLOAD: payload_bytes}
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
