"""Chart of the traffic over time, with a menu of configurations."""

from collections.abc import Mapping

import numpy as np
from plotly.graph_objects import Figure, Scatter
from plotly.subplots import make_subplots

from sysmodel.runs.timeline import Timeline

from .units import Unit, unit_of

__all__ = ["traffic_chart"]

_UNIT = " (bytes/ns)"
_COLOURS = {
    "DRAM gemm read": "#30507a",
    "DRAM gemm write": "#7d9cc7",
    "DRAM rs read": "#d9722e",
    "DRAM rs write": "#f0a878",
    "DRAM ag read": "#b8902a",
    "DRAM ag write": "#f2c879",
    "link": "#3a7d44",
}
_LINK = "link"


def traffic_chart(
    timelines: Mapping[str, Timeline], *, memory_gb_per_s: float, link_gb_per_s: float
) -> Figure:
    """Rates of the memory, stacked, and below them the rate of the link, each with its peak.

    A menu picks the configuration; both plots share the time axis, so that they zoom together.
    """
    figure = make_subplots(
        rows=2, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.65, 0.35]
    )
    owners: list[str] = []
    unit = unit_of("ns", max(map(_end_ns, timelines.values())))
    for configuration, timeline in timelines.items():
        for name, samples in timeline.series.items():
            kind = name.removesuffix(_UNIT)
            if name.endswith(_UNIT):
                figure.add_trace(
                    _line(kind, timeline, samples, unit), row=2 if kind == _LINK else 1, col=1
                )
                owners.append(configuration)
    first = next(iter(timelines))
    for trace, owner in zip(figure.data, owners, strict=True):
        trace.visible = owner == first
    buttons = [
        {
            "label": name,
            "method": "update",
            "args": [{"visible": [owner == name for owner in owners]}],
        }
        for name in timelines
    ]
    figure.add_hline(memory_gb_per_s, line_dash="dot", row=1, col=1, annotation_text="peak")
    figure.add_hline(link_gb_per_s, line_dash="dot", row=2, col=1, annotation_text="peak")
    figure.update_layout(
        height=620,
        margin={"t": 60},
        hovermode="x unified",
        updatemenus=[
            {"buttons": buttons, "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom"}
        ],
    )
    figure.update_yaxes(title_text="memory (GB/s)", row=1, col=1)
    figure.update_yaxes(title_text="link (GB/s)", rangemode="tozero", row=2, col=1)
    figure.update_xaxes(title_text=f"time ({unit.name})", row=2, col=1)
    return figure


def _end_ns(timeline: Timeline) -> float:
    return timeline.bucket_ns * max(map(len, timeline.series.values()))


def _line(kind: str, timeline: Timeline, samples: np.ndarray, unit: Unit) -> Scatter:
    return Scatter(
        name=kind,
        x=(np.arange(len(samples)) + 0.5) * unit.of(timeline.bucket_ns),
        y=np.round(samples, 2),
        line={"width": 0.5 if kind != _LINK else 1.2, "color": _COLOURS.get(kind), "shape": "hvh"},
        stackgroup=None if kind == _LINK else "memory",
        hovertemplate="%{y:,.0f} GB/s",
    )
