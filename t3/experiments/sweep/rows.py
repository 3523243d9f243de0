"""The tidy table of a sweep: a row for each point and configuration."""

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from sysmodel.energy.counts import Activity, DramBytes, Energy, LinkBytes
from sysmodel.runs.result import ConfigurationResult, RunResult
from sysmodel.runs.slots import SlotTimes

from .grid import Grid
from .point import Point

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Rows", "columns", "complete", "measured", "table"]

Rows = dict[str, dict[str, float]]
"""What was measured, by configuration."""

_NESTED = ("gemm_slots", "dram_bytes", "link_bytes", "activity", "energy_j")
_ENERGY = ("energy_total_j", "energy_reduction", "t3_power_w")
_MEASURED = (
    *(one.name for one in fields(ConfigurationResult) if one.name not in (*_NESTED, *_ENERGY)),
    *(f"gemm_slot_{one.name}" for one in fields(SlotTimes)),
    *(f"dram_{one.name}_bytes" for one in fields(DramBytes)),
    "dram_total_bytes",
    *(f"link_{one.name}_bytes" for one in fields(LinkBytes)),
    "gemm_efficiency",
    "simulated_channels",
    "simulated_share",
    "launches",
    "extrapolated",
    *(one.name for one in fields(Activity)),
    *(f"energy_{one.name}_j" for one in fields(Energy)),
    *_ENERGY,
)


def measured(result: RunResult) -> Rows:
    """Columns of a run that its coordinates do not tell."""
    return {name: _row(one, result) for name, one in result.configurations.items()}


def _row(one: ConfigurationResult, result: RunResult) -> dict[str, float]:
    values = {
        **vars(one),
        **{f"gemm_slot_{name}": time for name, time in vars(one.gemm_slots).items()},
        **{f"dram_{name}_bytes": count for name, count in asdict(one.dram_bytes).items()},
        "dram_total_bytes": one.dram_bytes.total,
        **{f"link_{name}_bytes": count for name, count in asdict(one.link_bytes).items()},
        "gemm_efficiency": result.gemm_efficiency,
        "simulated_channels": result.channels,
        "simulated_share": result.simulated_share,
        "launches": result.launches,
        "extrapolated": int(result.extrapolated),
        **vars(one.activity),
        **{f"energy_{name}_j": energy for name, energy in vars(one.energy_j).items()},
    }
    return {name: values[name] for name in _MEASURED}


def columns(grid: Grid) -> list[str]:
    """Columns of the table, in order."""
    coordinates = grid.points[0].coordinates(grid.system_keys)
    return [*coordinates, "configuration", *_MEASURED]


def table(grid: Grid, results: dict[str, Rows]) -> "pd.DataFrame":
    """The table, in the grid's order; points without results are left out.

    Parameters
    ----------
    results : dict
        By the points' identities.
    """
    import pandas as pd

    rows = [row for point in grid.points for row in _rows(grid, point, results)]
    made: pd.DataFrame = pd.DataFrame(rows, columns=columns(grid))
    if made["channels"].dtype == object:  # numbers beside "auto", which Parquet cannot hold
        made["channels"] = made["channels"].astype(str)
    return made


def complete(point: Point, results: dict[str, Rows]) -> bool:
    """Whether there are results for all configurations of a point."""
    return set(point.options.configurations) <= set(results.get(point.identity, ()))


def _rows(grid: Grid, point: Point, results: dict[str, Rows]) -> list[dict[str, Any]]:
    if not complete(point, results):
        return []
    coordinates = point.coordinates(grid.system_keys)
    return [
        {**coordinates, "configuration": name, **results[point.identity][name]}
        for name in point.options.configurations
    ]
