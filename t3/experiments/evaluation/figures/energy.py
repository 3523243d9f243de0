"""Energy of the sublayers by part."""

from functools import reduce
from operator import add
from pathlib import Path

import pandas as pd

from sysmodel.runs.columns import SUBLAYER
from t3.experiments.evaluation.energy import PARTS
from t3.experiments.evaluation.study import BASE, Case, Study

from .shares import draw_shares

__all__ = ["draw_energy"]

_DIE = ("wires", "CUs", "T3")  # too small to distinguish
_SHOWN = {name: parts for name, parts in PARTS.items() if name not in _DIE}
_SHOWN["on the GPU's die"] = tuple(part for name in _DIE for part in PARTS[name])
_COLOURS = ("#30507a", "#7d9cc7", "#b9cbe2", "#d9722e", "#f2c879")


def draw_energy(study: Study, path: Path) -> None:
    """Energy by part of sequential and T3-MCA, as a share of sequential's, for each dispatch."""

    def parts_of(case: Case) -> dict[str, pd.DataFrame]:
        whole = study.points(SUBLAYER.energy["total"].key, case, group="main")[BASE]
        parts = {
            name: reduce(
                add, (study.points(SUBLAYER.energy[one].key, case, group="main") for one in parts)
            )
            for name, parts in _SHOWN.items()
        }
        return {name: 100 * part.div(whole, axis=0) for name, part in parts.items()}

    draw_shares(study, path, parts_of, _COLOURS)
