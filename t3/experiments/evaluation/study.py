"""Everything that the evaluation measured, and how a part of it is chosen."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from sysmodel.config.system import System
from sysmodel.energy.counts import Activity, Energy
from sysmodel.lib.errors import InputError

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
"""The configuration that stands for the paper's T3-MCA."""

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
_BYTES = (
    *(f"dram_{part}_{way}_bytes" for part in ("gemm", "rs", "ag") for way in ("read", "write")),
    *("dram_total_bytes", "link_rs_bytes", "link_ag_bytes"),
)
_ENERGY = (
    *Activity.__dataclass_fields__,
    *(f"energy_{part}_j" for part in Energy.__dataclass_fields__),
    "energy_total_j",
)
_TIMES = (
    *("gemm_ns", "tracker_stall_ns", "rs_ns", "ag_ns", "total_ns", "speedup"),
    *("overlapped_communication_ns", "exposed_communication_ns", "gemm_slowdown"),
    *("gemm_waiting", "gemm_contention"),
)
_COLUMNS = {
    "table": (
        *(*POINT, "m", "n", "k", DISPATCH, LINK, CUS),
        *("simulated_channels", "gpus", "configuration"),
        *(*_TIMES, *_BYTES, *_ENERGY),
    ),
    "sensitivity": (*POINT, "m", "n", "k", "system", "configuration", "speedup"),
    "models": (
        *("model", "tp", DISPATCH, LINK, CUS, "variant", "phase", "configuration"),
        *("model_ms", "speedup", "communication_share"),
    ),
    "variation": (
        *(*POINT, "configuration"),
        *(f"speedup_{part}" for part in ("mean", "least", "most")),
        *(f"over_round_robin_{part}" for part in ("mean", "least", "most")),
    ),
}


def system_value(system: System, key: str) -> Any:
    """Value of a system's key, given by its dotted path; a list as its JSON text."""
    value: Any = system
    for part in key.split("."):
        value = getattr(value, part)
    return json.dumps(value) if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class Case:
    """A machine of the matrix.

    Parameters
    ----------
    dispatch : str
        ``free`` or ``stages``.
    link : float
        GB/s in each direction.
    """

    dispatch: str
    link: float

    @property
    def label(self) -> str:
        return f"{self.dispatch}, {self.link:g} GB/s"


@dataclass(frozen=True, kw_only=True)
class Study:
    """What was measured.

    Parameters
    ----------
    table : DataFrame
        The evaluation matrix: a row for each point and configuration, with the columns of a
        sweep's table. Dispatch, link rate and number of compute units are columns of it.
    rtl : DataFrame
        Rows of the matrix again, with the compiled RTL in the loop; none if it was not run.
    sensitivity : DataFrame
        The same columns, where one parameter at a time leaves its default.
    models : DataFrame
        End-to-end results, as ``end_to_end`` gives them, of both variants.
    operators : DataFrame
        Operators of BERT-Large, as they are to be shown.
    variation : DataFrame
        A few sublayers, repeated, as ``measure_variation`` gives them.
    efficiency : sequence of (int, mapping, float)
        K, and share of the peak that our GEMM reaches, by way of dispatch, and a tuned library's.
    timelines : mapping
        Of T-NLG FC-2 on 8 GPUs, dispatched in stages, by configuration.
    system : System
        The preset whose values hold where a column does not say otherwise.

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
        for name, columns in _COLUMNS.items():
            missing = [column for column in columns if column not in getattr(self, name)]
            if missing:
                raise InputError(name, f"column {missing[0]!r} is missing")
        for case in self.cases:
            self.points("total_ns", case)

    @cached_property
    def cases(self) -> list[Case]:
        """Cases of the matrix, the system's own link rate first, and its own dispatch in each."""
        rate, dispatch = self.system.link.bandwidth_gb_per_s, self.system.gpu.dispatch
        pairs = self.table[[DISPATCH, LINK]].drop_duplicates()
        return sorted(
            (Case(*pair) for pair in pairs.itertuples(index=False, name=None)),
            key=lambda one: (one.link != rate, -one.link, one.dispatch != dispatch, one.dispatch),
        )

    @property
    def main_cases(self) -> list[Case]:
        """Those at the system's own link rate, which page and figures show."""
        return [one for one in self.cases if one.link == self.cases[0].link]

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
        """A column of the matrix, with a row for each sublayer and a column for each configuration.

        Parameters
        ----------
        group : str
            A key of ``GROUPS``.
        layers : sequence of str, optional
            Only these.
        compute_units : int, optional
            The system's own number unless given.

        Raises
        ------
        InputError
            A point lacks a configuration that others have, or has it twice.
        """
        units = compute_units or self.compute_units
        only = None if layers is None else tuple(layers)
        # Tables and claims ask for the same ones again and again.
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
        """Values of the matrix's rows, as ``points`` gives those of a column."""
        return _spread(self._choose(case, group, None, self.compute_units), values)

    def _choose(
        self, case: Case, group: str, layers: tuple[str, ...] | None, units: int
    ) -> pd.DataFrame:
        """What the matrix's rows of some sublayers are of, these in their order."""
        key = (case, group, layers, units)
        if key not in self._chosen:
            rows = self.table.loc[
                (self.table[DISPATCH] == case.dispatch)
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
        """A column of the end-to-end results, with a row for each model and degree of tensor
        parallelism and a column for each configuration."""
        rows = self.models[
            (self.models[DISPATCH] == case.dispatch)
            & (self.models[LINK] == case.link)
            & (self.models[CUS] == (compute_units or self.compute_units))
            & (self.models["variant"] == variant)
            & (self.models["phase"] == phase)
            & self.models["tp"].isin(GROUPS[group])
        ]
        wide = rows.pivot(index=["model", "tp"], columns="configuration", values=column)
        ordered: pd.DataFrame = wide.reindex(_order(rows, ["model", "tp"]))
        return ordered


def _spread(chosen: pd.DataFrame, values: pd.Series) -> pd.DataFrame:
    """A row for each sublayer and a column for each configuration."""
    rows = chosen.assign(value=values.loc[chosen.index])
    wide = rows.pivot(index=POINT, columns="configuration", values="value")
    ordered: pd.DataFrame = wide.reindex(_order(chosen, POINT))
    return ordered


def _order(rows: pd.DataFrame, keys: list[str]) -> pd.MultiIndex:
    """Points key by key, each in the order in which the table first has it."""
    columns = [rows[name].tolist() for name in keys]
    places = [{value: place for place, value in enumerate(dict.fromkeys(one))} for one in columns]
    points = sorted(
        dict.fromkeys(zip(*columns, strict=True)),
        key=lambda point: [of[value] for of, value in zip(places, point, strict=True)],
    )
    ordered: pd.MultiIndex = pd.MultiIndex.from_tuples(points, names=keys)
    return ordered
