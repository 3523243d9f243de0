"""Page of a sweep: any measured column over any axis, for chosen values of the other axes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from plotly.graph_objects import Figure, Scatter

from sysmodel.runs.columns import SUBLAYER, Column

from .document import MISSING, Section, Table
from .html import interactive_page
from .units import Unit, unit_of

__all__ = ["sweep_chart", "sweep_page"]


_Columns = Mapping[str, Column]
"""Measured columns by key."""

_COLOURS = ("#4a78b5", "#d9722e", "#3a8f4d", "#b8902a", "#7d9cc7", "#b0507a", "#7a8795", "#c05f9f")
_LONGEST_TABLE, _LONGEST_LABEL = 500, 20
_SCALED = ("ns", "bytes", "J")
_EXACT = 1 << 53  # integers below this size are exact in JavaScript


def sweep_page(title: str, table: pd.DataFrame, known: _Columns = SUBLAYER.by_key) -> str:
    """HTML of a sweep's table; menus pick the columns of the chart, and filter its points.

    Parameters
    ----------
    title : str
        Title of the grid.
    table : DataFrame
        Table of the sweep, with at least one row.
    known : mapping
        Measured columns of its programs, by key.
    """
    axes = _axes(table)
    more = f" The first {_LONGEST_TABLE} rows." if len(table) > _LONGEST_TABLE else ""
    sections = [
        Section(
            title="Points",
            text="The first menu picks the measured column, the second the axis; the others show "
            "only the points with one value of another axis. A click on a configuration's name "
            "hides the configuration; a double click hides all others.",
            chart=sweep_chart(table, known),
        ),
        Section(
            title="Table",
            text=f"Axes that vary, and the main measured columns; table.csv has all columns.{more}",
            table=_shown(table, axes, known),
        ),
    ]
    about = f"{len(table)} rows of {len(table[axes].drop_duplicates())} points."
    return interactive_page(title, about, sections)


def sweep_chart(table: pd.DataFrame, known: _Columns = SUBLAYER.by_key) -> Figure:
    """Chart of the first measured column over the first axis.

    ``layout.meta`` has all columns by configuration, from which the menus of the page
    (``menus.js``) choose.
    """
    axes, measured = _axes(table), _measured(table, known)
    groups = list(table.groupby("configuration", sort=False))
    columns = {name: _column(name, name, [list(rows[name]) for _, rows in groups]) for name in axes}
    for name in measured:
        unit = _unit(table, known[name])
        values = [[_scaled(value, unit) for value in rows[name]] for _, rows in groups]
        columns[name] = _column(name, _heading(known[name], unit), values)
    figure = Figure()
    for index, ((configuration, rows), colour) in enumerate(
        zip(groups, _COLOURS * len(groups), strict=False)
    ):
        figure.add_trace(
            Scatter(
                name=str(configuration),
                x=columns[axes[0]]["values"][index],
                y=columns[measured[0]]["values"][index],
                mode="markers",
                marker={"size": 9, "color": colour},
                text=list(rows[axes].astype(str).agg(", ".join, axis=1)),
                hovertemplate="%{text}<br>%{fullData.name}: %{y:,.4~f}<extra></extra>",
            )
        )
    figure.update_layout(
        height=520,
        margin={"t": 20},
        xaxis_title=axes[0],
        xaxis_labelalias=_short_labels(table, axes),
        yaxis_title=columns[measured[0]]["title"],
        yaxis_exponentformat="none",
        meta={"columns": columns, "measured": measured, "axes": axes},
    )
    return figure


def _axes(table: pd.DataFrame) -> list[str]:
    """Varying columns before the configuration; the first column if none varies."""
    columns = list(table.columns[: table.columns.get_loc("configuration")])
    return [name for name in columns if table[name].nunique(dropna=False) > 1] or columns[:1]


def _measured(table: pd.DataFrame, known: _Columns) -> list[str]:
    """Main columns that the table has."""
    times = [key for key, one in known.items() if one.path[:1] == ("ns",)]
    ratios = [
        key
        for ratio in ("contention", "link")
        for key, one in known.items()
        if one.path[:1] == ("gemms",) and one.path[-1] == ratio
    ]
    main = (
        *("speedup", "total_ns", *times, "exposed_communication_ns"),
        *(*ratios, "energy_total_j", "dram_total_bytes"),
    )
    return [name for name in main if name in table and table[name].notna().any()]


def _short_labels(table: pd.DataFrame, axes: list[str]) -> dict[str, str]:
    """Labels for texts that are too long for the axis of a narrow chart."""
    texts = {str(value) for name in axes for value in table[name]}
    return {text: f"{text[: _LONGEST_LABEL - 1]}…" for text in texts if len(text) > _LONGEST_LABEL}


def _column(name: str, title: str, values: list[list[Any]]) -> dict[str, Any]:
    """Column as the page's script takes it: values by configuration."""
    return {"title": title, "values": [[_plain(value) for value in part] for part in values]}


def _plain(value: Any) -> Any:
    """Value for JSON: None if it is missing, text if it is too large to be exact."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value != value:
        return None
    return str(value) if isinstance(value, int) and abs(value) > _EXACT else value


def _unit(table: pd.DataFrame, column: Column) -> Unit | None:
    """Unit of a measured column; None for ratios."""
    unit = column.unit
    return unit_of(unit, float(table[column.key].abs().max())) if unit in _SCALED else None


def _scaled(value: float, unit: Unit | None) -> float:
    return value if unit is None else unit.of(value)


def _heading(column: Column, unit: Unit | None) -> str:
    name_of_unit = unit.name if unit else column.unit
    return f"{column.title} ({name_of_unit})" if name_of_unit else column.title


def _shown(table: pd.DataFrame, axes: list[str], known: _Columns) -> Table:
    """Table for readers: times, bytes and energies in one unit for each column."""
    first = table.head(_LONGEST_TABLE)
    columns: dict[str, list[str]] = {}
    for name in axes:
        is_text = not pd.api.types.is_numeric_dtype(table[name])
        columns[name + ":" * is_text] = [_words(value) for value in first[name]]
    columns["configuration:"] = [str(value) for value in first["configuration"]]
    for name in _measured(table, known):
        unit = _unit(table, known[name])
        columns[_heading(known[name], unit)] = [
            MISSING if pd.isna(value) else unit.text(value) if unit else f"{value:.3f}"
            for value in first[name]
        ]
    rows = list(zip(*columns.values(), strict=True))
    return Table(list(columns), rows, text_columns=0)


def _words(value: Any) -> str:
    """Cell of an axis."""
    if pd.isna(value):
        return MISSING
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return f"{value:,.10g}" if is_number else str(value)
