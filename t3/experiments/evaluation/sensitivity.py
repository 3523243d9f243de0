"""Sensitivity of the speedups to the parameters that are not public."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from sysmodel.config.system import System
from sysmodel.lib.errors import InputError

from .study import POINT, Study, system_value

__all__ = ["MEASURED", "effects"]

MEASURED = ("t3", "t3-mca", "t3-critical", "ideal-overlap")
_CUSTOM = "gemm"  # layer of a point whose sizes the grid gives


def effects(study: Study) -> pd.DataFrame:
    """Speedups at each value of the parameters.

    Returns
    -------
    DataFrame
        A row for each point and value: model, tp, layer, parameter, default, value, and for each
        configuration of ``MEASURED`` its speedup there and, ending in `` default``, at the
        defaults.

    Raises
    ------
    InputError
        The table lacks a point at the defaults.
    """
    rows = study.sensitivity[study.sensitivity["configuration"].isin(MEASURED)]
    changes = pd.DataFrame(_changes(rows, study.system), index=rows.index)
    rows = changes.join(rows[["configuration", "speedup"]])
    keys = [*POINT, "parameter", "default", "value"]
    wide = rows.pivot(index=keys, columns="configuration", values="speedup").reset_index()
    wide = wide.set_index(keys).reindex(pd.MultiIndex.from_frame(rows[keys].drop_duplicates()))
    wide = wide.reset_index()
    at_default = wide["parameter"] == ""
    defaults = wide[at_default].set_index(POINT)[list(MEASURED)]
    changed = wide[~at_default]
    lacking = set(map(tuple, changed[POINT].to_numpy())) - set(defaults.index)
    if lacking:
        model, tp, layer = min(lacking)
        raise InputError("sensitivity", f"{model} {layer}, TP {tp}, lacks a row at the defaults")
    joined = changed.join(defaults.add_suffix(" default"), on=POINT)
    numbered: pd.DataFrame = joined.reset_index(drop=True)
    return numbered


def _changes(rows: pd.DataFrame, system: System) -> Iterator[dict[str, Any]]:
    """Sublayer of each row, and the parameters that are not at their default."""
    named = rows[rows["layer"] != _CUSTOM]
    sublayers = {(row.tp, row.n, row.k): row for row in named.itertuples()}
    defaults = {key: system_value(system, key) for key in rows.columns if "." in key}
    for _, row in rows.iterrows():
        place = row["tp"], row["n"], row["k"]
        if place not in sublayers:
            raise InputError(
                "sensitivity", "a GEMM of TP {}, N {}, K {} matches no sublayer".format(*place)
            )
        sublayer = sublayers[place]
        if row["system"] != system.name:
            found = {"system": (system.name, row["system"])}
        else:
            found = {
                key: (default, row[key]) for key, default in defaults.items() if row[key] != default
            }
        if row["m"] != sublayer.m:
            found["tokens"] = (sublayer.m, row["m"])
        yield {
            **{name: getattr(sublayer, name) for name in POINT},
            "parameter": ", ".join(found),
            "default": ", ".join(_shown(default) for default, _ in found.values()),
            "value": ", ".join(_shown(value) for _, value in found.values()),
        }


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
