"""Energy of one GPU by part: a table and a chart for pages."""

from operator import attrgetter
from typing import TYPE_CHECKING

from sysmodel.runs.configuration_result import ConfigurationResult
from sysmodel.runs.result import RunResult

from .document import MISSING, Table
from .units import Unit, unit_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Chart

__all__ = ["energy_chart", "energy_table"]

_PARTS = {
    "DRAM": "dram",
    "NMC": "nmc",
    "link": "link",
    "wires": "network",
    "CUs": "cu",
    "T3": "t3",
}
_COLOURS = ("#4a78b5", "#7d9cc7", "#3a8f4d", "#b8902a", "#d9722e", "#b0507a")


def energy_table(result: RunResult) -> Table:
    """Energies by configuration and part, the saved share, and the power of the T3 hardware."""
    unit, configurations = _unit(result), result.configurations
    power = unit_of("W", max(one.t3_power_w for one in configurations.values()))
    titles = [f"{name} ({unit.name})" for name in (*_PARTS, "total")]
    rows = [
        [
            name,
            *(unit.text(_energy(one, part)) for part in _PARTS),
            unit.text(one.energy_total_j),
            MISSING if one.energy_reduction is None else f"{one.energy_reduction:.1%}",
            power.text(one.t3_power_w),
        ]
        for name, one in configurations.items()
    ]
    return Table(["configuration:", *titles, "saved", f"power of T3 ({power.name})"], rows)


def energy_chart(result: RunResult) -> "Chart":
    """Stacked bar for each configuration, for HTML."""
    from plotly.graph_objects import Bar
    from plotly.graph_objects import Figure as Chart

    unit, configurations = _unit(result), result.configurations
    bars = [
        Bar(
            name=part,
            x=list(configurations),
            y=[unit.of(_energy(one, part)) for one in configurations.values()],
            marker_color=colour,
            hovertemplate=f"%{{x}}<br>%{{fullData.name}}: %{{y:,.2f}} {unit.name}<extra></extra>",
        )
        for part, colour in zip(_PARTS, _COLOURS, strict=True)
    ]
    chart = Chart(data=bars)
    title = f"energy ({unit.name})"
    chart.update_layout(barmode="stack", yaxis_title=title, height=460, margin={"t": 20})
    return chart


def _unit(result: RunResult) -> Unit:
    return unit_of("J", max(one.energy_total_j for one in result.configurations.values()))


def _energy(one: ConfigurationResult, part: str) -> float:
    return float(attrgetter(_PARTS[part])(one.energy_j))
