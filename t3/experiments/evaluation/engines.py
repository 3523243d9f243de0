"""Comparison of the RTL engine with the golden engine: equal in every number."""

import pandas as pd

from sysmodel.lib.errors import SimulationError

__all__ = ["check_engines"]

_ENGINE = "engine"
_OVER_RIVAL = "speedup_over_rival"  # depends on the other configurations of the point


def check_engines(golden: pd.DataFrame, rtl: pd.DataFrame) -> None:
    """Compare every row of ``rtl`` with the row of ``golden`` for the same point.

    Raises
    ------
    SimulationError
        A number differs, or a row has no counterpart; the message names the first difference.
    """
    names = list(rtl.columns)
    place = [one for one in names[: names.index("configuration") + 1] if one != _ENGINE]
    expected = dict(golden.set_index(place).drop(columns=[_ENGINE, _OVER_RIVAL]).iterrows())
    for key, found in rtl.set_index(place).iterrows():
        where = ", ".join(f"{name} {value}" for name, value in zip(place, key, strict=True))
        if key not in expected:
            raise SimulationError(f"the RTL has a point that the matrix lacks: {where}")
        for name, theirs in expected[key].items():
            ours = found[name]
            if ours != theirs and not (pd.isna(ours) and pd.isna(theirs)):
                raise SimulationError(
                    f"the engines differ: {where}: {name} is {ours} by the RTL and {theirs} by "
                    "the golden engine"
                )
