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

# Tokens of a batch by model; fewer for the largest one, whose points would take half of the time.
_TOKENS = {"llama-3-70b": 8192, "llama-3-405b": 4096, "qwen2.5-72b": 8192}
_ByPayload = dict[int, tuple[str, ...]]

_ON_SWITCH: _ByPayload = {32: (*RIVALS, BEST, BOUND), 256: (BEST,)}
# Configurations by system and payload of T3's packets: 32 bytes in the present hardware. The rivals
# do not depend on the payload. On a full mesh RCCL runs what ``sequential`` runs; docs/fused.md
# says why a fused GEMM is left out; and T3 uses one of seven links, for which no packets make up.
_CONFIGURATIONS: dict[str, _ByPayload] = {
    "h200": _ON_SWITCH,
    "b200": _ON_SWITCH,
    "mi300x": {32: ("sequential", "chunked", "two-batch", BEST, BOUND)},
}


def matrix() -> Grid:
    """Grid of all pairs and systems."""
    blocks = [
        {
            "workload": {"model": name, "layer": layer, "tp": GPUS, "tokens": tokens},
            "system": {"base": base, PAYLOAD: payload_bytes},
            "run": {
                "engine": "golden",
                "program": pair(_transformer(name, tokens), layer, GPUS),
                "configurations": list(names),
            },
        }
        for name, tokens in _TOKENS.items()
        for layer in LAYERS
        for base, by_payload in _CONFIGURATIONS.items()
        for payload_bytes, names in by_payload.items()
    ]
    content: dict[str, Any] = {"title": "T3 and its rivals on today's GPUs", "grid": blocks}
    return make_grid(content, where="rivals", folder=Path())


def _transformer(name: str, tokens: int) -> Transformer:
    model = load_model(name)
    assert isinstance(model, Transformer)
    return model.model_copy(update={"sequence": tokens, "batch": 1})


def measure(out: Path, workers: int | None, scheduler: str | None) -> pd.DataFrame:
    """Simulate the points that ``out`` does not hold already, by the golden engine.

    Raises
    ------
    InputError, SimulationError
        See ``sweep``.
    """
    with Display(out, "rivals") as display:
        return sweep(matrix(), out, scheduler=scheduler, workers=workers, report=display)
