"""Sweeps from Python: a grid as a mapping or a file, a DataFrame as the result."""

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysmodel.config.arguments import checked, checked_path
from sysmodel.lib.errors import InputError, short
from sysmodel.runs.engines import EngineName

if TYPE_CHECKING:
    import pandas as pd

    from t3.experiments.sweep.grid import Grid

__all__ = ["FILES", "sweep"]

FILES = ("table.csv", "table.parquet", "sweep.json", "report.html")
"""Names of the files in the folder of a sweep, beside the stored points."""


def sweep(
    grid: Mapping[str, Any] | Path | str,
    out: Path | str | None = None,
    *,
    engine: EngineName | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
) -> "pd.DataFrame":
    """Simulate every point of a grid of workloads, systems and policies.

    Separate processes simulate, so a script needs no guard, and a notebook works, too.

    Parameters
    ----------
    grid : mapping or path
        TOML file (docs/sweeps.md), or its content: one block with the axes ``workload``,
        ``system`` and ``run``, or ``title`` and ``grid``, a list of such blocks. An axis is a
        value or a list; keys of the system are dotted, or nested. Paths of models and systems in a
        mapping are relative to the working folder.
    out : path, optional
        Folder that stores each result when it is ready, so that the next call continues there, and
        a page, ``report.html``. Without a folder only the table is returned.
    engine : str, optional
        Engine instead of the grid's: ``rtl`` or ``golden``.
    workers : int, optional
        Simulations at a time; one for each core unless given.
    scheduler : str, optional
        Address of a running Dask scheduler, whose workers simulate instead.

    Returns
    -------
    DataFrame
        A row for each point and configuration, in the grid's order; a column for each axis of the
        system. Times end in ``_ns``, bytes in ``_bytes``, energies in ``_j``.

    Raises
    ------
    InputError
        A value cannot be used; nothing was simulated.
    SimulationError
        Some points failed; the others are stored in ``out``.

    Examples
    --------
    >>> import t3
    >>> table = t3.sweep(
    ...     {
    ...         "workload": {"m": 1024, "n": 768, "k": 64, "tp": 4},
    ...         "system": {"link.bandwidth_gb_per_s": [75, 150]},
    ...         "run": {"engine": "golden", "configurations": ["sequential", "t3"]},
    ...     },
    ...     workers=1,
    ... )
    >>> table.pivot(index="link.bandwidth_gb_per_s", columns="configuration", values="rs_ns").shape
    (2, 2)
    """
    from sysmodel.runs.columns import columns_of
    from t3.experiments.sweep.display import Display
    from t3.experiments.sweep.run import sweep as run_sweep
    from t3.report.sweep import sweep_page

    scheduler = checked("scheduler", scheduler, str | None)
    loaded = _loaded(grid, engine)
    with ExitStack() as stack:
        if out is None:
            out = stack.enter_context(tempfile.TemporaryDirectory(prefix="t3-sweep-"))
        out = checked_path("out", out)
        display = stack.enter_context(Display(out))
        known = columns_of(point.options.program for point in loaded.points)
        page = partial(sweep_page, known=known)
        table = run_sweep(
            loaded, out, scheduler=scheduler, workers=workers, report=display, page=page
        )
        table.attrs["points"] = len(loaded.points)
        return table


def _loaded(grid: Mapping[str, Any] | Path | str, engine: EngineName | None) -> "Grid":
    from t3.experiments.sweep.grid import load_grid, make_grid

    if isinstance(grid, Mapping):
        data = grid if "grid" in grid else {"title": "sweep", "grid": [dict(grid)]}
        return make_grid(data, where="sweep", folder=Path(), engine=engine)
    if isinstance(grid, (str, Path)):
        return load_grid(grid, engine=engine)
    problem = f"{short(grid)} is not allowed; allowed: a mapping, or the path of a TOML file"
    raise InputError("grid", problem)
