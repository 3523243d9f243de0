"""Sweeps over today's machines: the matrix, and sampled channels compared with all channels."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from t3.experiments.sweep.display import Display
from t3.experiments.sweep.grid import load_grid
from t3.experiments.sweep.run import sweep

__all__ = ["Matrix", "measure"]

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Matrix:
    """Tables of two sweeps.

    Parameters
    ----------
    table : DataFrame
        The matrix: a row for each sublayer, system and configuration.
    sampled : DataFrame
        One sublayer on each system, with sampled channels and with all.
    """

    table: pd.DataFrame
    sampled: pd.DataFrame


def measure(out: Path, workers: int | None, scheduler: str | None) -> Matrix:
    """Simulate the points that ``out`` does not hold already, by the golden engine.

    Raises
    ------
    InputError, SimulationError
        See ``sweep``.
    """

    def swept(name: str, folder: Path, number: int) -> pd.DataFrame:
        with Display(folder, f"{name}, sweep {number} of 2") as display:
            grid = load_grid(_HERE / f"{name}.toml")
            return sweep(grid, folder, scheduler=scheduler, workers=workers, report=display)

    return Matrix(table=swept("matrix", out, 1), sampled=swept("sampled", out / "sampled", 2))
