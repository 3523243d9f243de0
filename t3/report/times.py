"""Where each configuration's time goes, as bars."""

from plotly.graph_objects import Bar, Figure

from sysmodel.runs.plots import PARTS
from sysmodel.runs.result import RunResult

__all__ = ["times_figure"]


def times_figure(result: RunResult) -> Figure:
    """A stacked bar for each configuration; the parts are those of the picture of a run."""
    names = list(result.configurations)
    figure = Figure()
    for label, colour, part in PARTS:
        heights = [part(one) / 1e3 for one in result.configurations.values()]
        figure.add_trace(
            Bar(
                name=label,
                x=names,
                y=heights,
                marker_color=colour,
                hovertemplate="%{x}<br>%{fullData.name}: %{y:,.1f} µs<extra></extra>",
            )
        )
    figure.update_layout(
        barmode="stack",
        yaxis_title="time (µs)",
        height=420,
        margin={"t": 20, "b": 40},
        legend={"orientation": "h", "y": -0.12},
    )
    return figure
