"""Measurements of the evaluation, and selections from them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from sysmodel.config.system import System
from sysmodel.lib.errors import InputError
from sysmodel.runs import columns

from .variation import OVER, spread_columns

if TYPE_CHECKING:
    from sysmodel.runs.timeline import Timeline

__all__ = [
    "BASE",
    "CUS",
    "DISPATCH",
    "GROUPS",
    "LINK",
    "POINT",
    "REPRODUCED",
    "Case",
    "Study",
    "system_value",
]

DISPATCH, LINK, CUS = "gpu.dispatch", "link.bandwidth_gb_per_s", "gpu.compute_units"
BASE = "sequential"
REPRODUCED = "t3-mca-paper"
"""Configuration that represents the paper's T3-MCA."""

POINT = ["model", "tp", "layer"]
# Models by the degree of tensor parallelism at which the paper studies them.
GROUPS: dict[str, tuple[int, ...]] = {
    "main": (8, 16),
    "tp8": (8,),
    "tp16": (16,),
    "large": (32,),
    "futuristic": (64,),
    "large and futuristic": (32, 64),
    "all": (8, 16, 32, 64),
}
_COLUMNS = {
    "table": (
        *(*POINT, "m", "n", "k", "system", DISPATCH, LINK, CUS),
        *("simulated_channels", "gpus", "configuration"),
        *(one.key for one in columns.SUBLAYER.times),
        *(one.key for one in (*columns.SUBLAYER.dram.values(), *columns.SUBLAYER.link.values())),
        *(
            one.key
            for one in (*columns.SUBLAYER.events.values(), *columns.SUBLAYER.energy.values())
        ),
    ),
    "sensitivity": (*POINT, "m", "n", "k", "system", "configuration", "speedup"),
    "models": (
        *("model", "tp", "system", DISPATCH, LINK, CUS, "variant", "phase", "configuration"),
        *("model_ms", "speedup", "communication_share"),
    ),
    "variation": (
        *(*POINT, "configuration"),
        *(*spread_columns("speedup"), *spread_columns(OVER)),
    ),
}


def system_value(system: System, key: str) -> Any:
    """Value of a key of a system, given by its dotted path; a list as its JSON text."""
    value: Any = system
    for part in key.split("."):
        value = getattr(value, part)
    return json.dumps(value) if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class Case:
    """Machine of the matrix.

    Parameters
    ----------
    dispatch : str
        ``free`` or ``stages``.
    link : float
        GB/s in each direction.
    preset : str
        Preset that differs from the study's own; empty for the study's own.
    """

    dispatch: str
    link: float
    preset: str = ""

    @property
    def name(self) -> str:
        """Name among the cases with one link rate."""
        return self.preset or self.dispatch

    @property
    def label(self) -> str:
        return f"{self.name}, {self.link:g} GB/s"


@dataclass(frozen=True, kw_only=True)
class Study:
    """Measurements of the evaluation.

    Parameters
    ----------
    table : DataFrame
        Evaluation matrix: a row for each point and configuration, with the columns of a
        sweep's table. Dispatch, link rate and number of compute units are columns of it. Rows of
        other presets than the study's own serve the claims only.
    rtl : DataFrame
        Rows of the matrix again, with the compiled RTL in the loop; empty if it was not run.
    sensitivity : DataFrame
        Rows with the same columns in which one parameter at a time leaves its default.
    models : DataFrame
        Results of ``end_to_end`` for both variants, with the preset as ``system``.
    operators : DataFrame
        Operators of BERT-Large, as the page shows them.
    variation : DataFrame
        Result of ``measure_variation`` for a few sublayers.
    efficiency : sequence of (int, mapping, float)
        K, share of the peak that our GEMM reaches by way of dispatch, and share of a tuned library.
    timelines : mapping
        Timelines of T-NLG FC-2 on 8 GPUs, dispatched in stages, by configuration.
    system : System
        Preset whose values hold unless a column has others.

    Raises
    ------
    InputError
        A column is missing, or a point lacks a configuration that the others have.
    """

    table: pd.DataFrame
    rtl: pd.DataFrame
    sensitivity: pd.DataFrame
    models: pd.DataFrame
    operators: pd.DataFrame
    variation: pd.DataFrame
    efficiency: Sequence[tuple[int, Mapping[str, float], float]]
    timelines: "Mapping[str, Timeline]" = field(default_factory=dict)
    system: System
    _chosen: dict[tuple[object, ...], pd.DataFrame] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _made: dict[tuple[object, ...], pd.DataFrame] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for name, needed in _COLUMNS.items():
            missing = [column for column in needed if column not in getattr(self, name)]
            if missing:
                raise InputError(name, f"column {missing[0]!r} is missing")
        for case in self.cases:
            self.points("total_ns", case)

    @cached_property
    def cases(self) -> list[Case]:
        """Cases of the study's own preset: the system's own link rate first, and its own dispatch
        first for each rate.
        """
        rate, dispatch = self.system.link.bandwidth_gb_per_s, self.system.gpu.dispatch
        own = self.table["system"] == self.system.name
        pairs = self.table.loc[own, [DISPATCH, LINK]].drop_duplicates()
        return sorted(
            (Case(*pair) for pair in pairs.itertuples(index=False, name=None)),
            key=lambda one: (one.link != rate, -one.link, one.dispatch != dispatch, one.dispatch),
        )

    @property
    def main_cases(self) -> list[Case]:
        """Cases at the system's own link rate, which page and figures show."""
        return [one for one in self.cases if one.link == self.cases[0].link]

    @cached_property
    def cited_cases(self) -> list[Case]:
        """Cases of other presets, which only the claims have."""
        others = self.table[self.table["system"] != self.system.name]
        found = others[[DISPATCH, LINK, "system"]].drop_duplicates()
        return [Case(*one) for one in found.itertuples(index=False, name=None)]

    @property
    def claim_cases(self) -> list[Case]:
        """Cases with which the pages compare the claims."""
        return [*self.main_cases, *self.cited_cases]

    @property
    def compute_units(self) -> int:
        return self.system.gpu.compute_units

    def points(
        self,
        column: str,
        case: Case,
        *,
        group: str = "all",
        layers: Sequence[str] | None = None,
        compute_units: int | None = None,
    ) -> pd.DataFrame:
        """Column of the matrix, as a row for each sublayer and a column for each configuration.

        Parameters
        ----------
        group : str
            Key of ``GROUPS``.
        layers : sequence of str, optional
            Layers to select; all unless given.
        compute_units : int, optional
            Number of compute units; the system's own number unless given.

        Raises
        ------
        InputError
            A point lacks a configuration that others have, or has it twice.
        """
        units = compute_units or self.compute_units
        only = None if layers is None else tuple(layers)
        # Tables and claims need the same columns again and again.
        key = (column, case, group, only, units)
        if key not in self._made:
            chosen = self._choose(case, group, only, units)
            wide = _spread(chosen, self.table[column])
            if wide.isna().any(axis=None):
                empty: Any = wide.isna().stack().idxmax()  # labels of the row and of the column
                model, tp, layer, name = empty
                problem = f"{model} {layer}, TP {tp}, lacks {name} at {case.label}"
                raise InputError("table", problem)
            self._made[key] = wide
        made: pd.DataFrame = self._made[key].copy()
        return made

    def spread(self, values: pd.Series, case: Case, *, group: str = "all") -> pd.DataFrame:
        """Values of the matrix's rows in the shape that ``points`` returns."""
        return _spread(self._choose(case, group, None, self.compute_units), values)

    def _choose(
        self, case: Case, group: str, layers: tuple[str, ...] | None, units: int
    ) -> pd.DataFrame:
        """Point and configuration of the matrix's rows for some sublayers, in the order of the
        rows.
        """
        key = (case, group, layers, units)
        if key not in self._chosen:
            rows = self.table.loc[
                (self.table["system"] == self._system_of(case))
                & (self.table[DISPATCH] == case.dispatch)
                & (self.table[LINK] == case.link)
                & (self.table[CUS] == units)
                & self.table["tp"].isin(GROUPS[group]),
                [*POINT, "configuration"],
            ]
            if layers is not None:
                rows = rows[rows["layer"].isin(layers)]
            if rows.duplicated().any():
                raise InputError("table", f"a point has a configuration twice at {case.label}")
            self._chosen[key] = rows
        return self._chosen[key]

    def model_points(
        self,
        column: str,
        case: Case,
        phase: str,
        *,
        group: str = "all",
        variant: str = "megatron",
        compute_units: int | None = None,
    ) -> pd.DataFrame:
        """Column of the end-to-end results, as a row for each model and degree of tensor
        parallelism and a column for each configuration."""
        rows = self.models[
            (self.models["system"] == self._system_of(case))
            & (self.models[DISPATCH] == case.dispatch)
            & (self.models[LINK] == case.link)
            & (self.models[CUS] == (compute_units or self.compute_units))
            & (self.models["variant"] == variant)
            & (self.models["phase"] == phase)
            & self.models["tp"].isin(GROUPS[group])
        ]
        wide = rows.pivot(index=["model", "tp"], columns="configuration", values=column)
        ordered: pd.DataFrame = wide.reindex(_order(rows, ["model", "tp"]))
        return ordered

    def _system_of(self, case: Case) -> str:
        return case.preset or self.system.name


def _spread(chosen: pd.DataFrame, values: pd.Series) -> pd.DataFrame:
    """Arrange values as a row for each sublayer and a column for each configuration."""
    rows = chosen.assign(value=values.loc[chosen.index])
    wide = rows.pivot(index=POINT, columns="configuration", values="value")
    ordered: pd.DataFrame = wide.reindex(_order(chosen, POINT))
    return ordered


def _order(rows: pd.DataFrame, keys: list[str]) -> pd.MultiIndex:
    """Points in order, each key in the order of its first place in the table."""
    columns = [rows[name].tolist() for name in keys]
    places = [{value: place for place, value in enumerate(dict.fromkeys(one))} for one in columns]
    points = sorted(
        dict.fromkeys(zip(*columns, strict=True)),
        key=lambda point: [of[value] for of, value in zip(places, point, strict=True)],
    )
    ordered: pd.MultiIndex = pd.MultiIndex.from_tuples(points, names=keys)
    return ordered
