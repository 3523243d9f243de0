"""Page of a sweep: any measured column over any axis."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from plotly.graph_objects import Figure, Scatter

from sysmodel.lib.output import write_text
from sysmodel.runs.columns import BY_KEY

from .document import Section, table_of
from .html import interactive_page

__all__ = ["PAGE", "sweep_page", "write_sweep_page"]

PAGE = "report.html"

_MEASURED = (
    *("speedup", "total_ns", "gemm_ns", "rs_ns", "ag_ns", "exposed_communication_ns"),
    *("gemm_contention", "energy_total_j", "dram_total_bytes"),
)
_COLOURS = ("#30507a", "#d9722e", "#3a7d44", "#b8902a", "#7d9cc7", "#8a3b5c", "#51606e", "#c05f9f")
_LONGEST_TABLE = 500


def sweep_page(title: str, table: pd.DataFrame) -> str:
    """HTML of a sweep's table; menus pick the columns of the chart.

    Parameters
    ----------
    title : str
        Title of the grid.
    table : DataFrame
        Table of the sweep, with at least one row.
    """
    axes = _axes(table)
    shown = [*axes, "configuration", *(name for name in _MEASURED if name in table)]
    more = f" The first {_LONGEST_TABLE} rows." if len(table) > _LONGEST_TABLE else ""
    sections = [
        Section(
            title="Points",
            text="The first menu picks the measured column, the second the axis. A click on a "
            "configuration's name hides the configuration; a double click hides all others.",
            chart=_chart(table, axes),
        ),
        Section(
            title="Table",
            text=f"Axes that vary, and the main measured columns; table.csv has all columns.{more}",
            table=table_of(table[shown].head(_LONGEST_TABLE).set_index(shown[0]).round(4)),
        ),
    ]
    about = f"{len(table)} rows of {len(table[axes].drop_duplicates())} points."
    return interactive_page(title, about, sections)


def write_sweep_page(folder: Path, title: str, table: pd.DataFrame) -> None:
    """Write the page into the folder of a sweep's table."""
    write_text(folder / PAGE, sweep_page(title, table))


def _axes(table: pd.DataFrame) -> list[str]:
    """Varying columns before the configuration; the first column if none varies."""
    columns = list(table.columns[: table.columns.get_loc("configuration")])
    return [name for name in columns if table[name].nunique(dropna=False) > 1] or columns[:1]


def _chart(table: pd.DataFrame, axes: list[str]) -> Figure:
    measured = [name for name in _MEASURED if name in table and table[name].notna().any()]
    groups = list(table.groupby("configuration", sort=False))
    figure = Figure()
    for (name, rows), colour in zip(groups, _COLOURS * len(groups), strict=False):
        points = rows[axes].astype(str).agg(", ".join, axis=1)
        figure.add_trace(
            Scatter(
                name=str(name),
                x=list(rows[axes[0]]),
                y=list(rows[measured[0]]),
                mode="markers",
                marker={"size": 9, "color": colour, "line": {"width": 1, "color": "white"}},
                text=list(points),
                hovertemplate="%{text}<br>%{fullData.name}: %{y:,.4g}<extra></extra>",
            )
        )
    figure.update_layout(
        height=520,
        margin={"t": 70, "b": 60},
        xaxis_title=axes[0],
        yaxis_title=_title(measured[0]),
        updatemenus=[
            _menu("y", [(one, _title(one)) for one in measured], groups, x=0.0),
            _menu("x", [(one, one) for one in axes], groups, x=0.35),
        ],
    )
    return figure


def _title(key: str) -> str:
    column = BY_KEY[key]
    return f"{column.title} ({column.unit})" if column.unit else column.title


def _menu(
    axis: str,
    choices: list[tuple[str, str]],
    groups: Sequence[tuple[object, pd.DataFrame]],
    *,
    x: float,
) -> dict[str, object]:
    buttons = [
        {
            "label": label,
            "method": "update",
            "args": [
                {axis: [list(rows[column]) for _, rows in groups]},
                {f"{axis}axis.title.text": label},
            ],
        }
        for column, label in choices
    ]
    return {"buttons": buttons, "x": x, "xanchor": "left", "y": 1.16}
