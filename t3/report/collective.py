"""Schedules of collectives as tables and as a picture."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysmodel.collectives.algorithm import Algorithm
from sysmodel.collectives.execution import Transfer, transfers
from sysmodel.collectives.schedule import Expanded
from sysmodel.collectives.traffic import steps, traffic
from sysmodel.runs.collective_result import CollectiveResult

from .document import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "algorithm_table",
    "as_dict",
    "cost_table",
    "draw_transfers",
    "flow_table",
    "result_table",
]

_COSTS = {
    "sent": "chunks sent",
    "received": "chunks received",
    "read": "chunks read",
    "written": "chunks written",
    "messages": "messages",
    "steps": "steps",
}


def algorithm_table(algorithms: Iterable[Algorithm]) -> Table:
    """Table of algorithms and their operations."""
    rows = [[one.name, ", ".join(one.operations), one.summary] for one in algorithms]
    return Table(("name", "operations", "way of the data"), rows, text_columns=3)


def flow_table(expanded: Expanded, rank: int) -> Table:
    """Table of the flows of one rank, in the order in which it handles them."""
    rows = [
        [
            str(stage),
            "reduces" if expanded.reduces[stage] else "stores",
            str(flow.chunk),
            "yes" if flow.own else "",
            "their sum" if flow.merged and flow.arrivals else str(flow.arrivals or ""),
            _peers(flow.to, flow.multicast) + (" (sum)" if flow.merged and flow.to else ""),
            "yes" if flow.keeps else "",
        ]
        for stage, ranks in enumerate(expanded.flows)
        for flow in ranks[rank]
    ]
    headings = ("stage", "arrivals are", "chunk", "own", "arrivals", "then to", "kept")
    return Table(headings, rows, text_columns=len(headings))


def _peers(peers: Sequence[int], multicast: bool) -> str:
    """Ranks, with a dash for those in a row."""
    shown: list[str] = []
    at = 0
    while at < len(peers):
        end = at
        while end + 1 < len(peers) and peers[end + 1] == peers[end] + 1:
            end += 1
        if end - at > 1:
            shown.append(f"{peers[at]}-{peers[end]}")
        else:
            shown += map(str, peers[at : end + 1])
        at = end + 1
    return ", ".join(shown) + (" (multicast)" if multicast else "")


def cost_table(expanded: Expanded, rank: int) -> Table:
    """Table of the costs of a rank, on compute units, in chunks of an owner."""
    found = traffic(expanded, lambda chunk: 1)[rank].costs(steps(expanded))
    whole = ("messages", "steps")
    values = [getattr(found, name) / (1 if name in whole else expanded.parts) for name in _COSTS]
    return Table(tuple(_COSTS.values()), [[f"{value:g}" for value in values]], text_columns=0)


def draw_transfers(expanded: Expanded, path: Path) -> None:
    """Draw the transfers of all ranks, step by step, into an SVG file."""
    from .style import clean, drawn, save

    stages = [[*transfers(expanded, stage)] for stage in range(len(expanded.flows))]
    lengths = [max((one.step for one in stage), default=0) for stage in stages]
    width = min(3 + 0.9 * sum(lengths), 24)
    with drawn(width, min(1.5 + 0.4 * expanded.ranks, 24)) as (figure, ((axes,),)):
        start = 0
        for stage, length in zip(stages, lengths, strict=True):
            if start:
                axes.axvline(start, color="black", linewidth=0.8)
            for one in stage:
                _draw(axes, one, start, expanded.ranks)
            start += length
        axes.set_xlim(0, start)
        axes.set_ylim(expanded.ranks - 0.5, -0.5)
        axes.set_xticks(range(start + 1))
        axes.set_yticks(range(expanded.ranks))
        axes.set_xlabel("step")
        axes.set_ylabel("rank")
        axes.set_title(f"{expanded.name}, {expanded.operation}; colour: owner of the chunk")
        clean(axes)
        save(figure, path)


def _draw(axes: "Axes", one: Transfer, start: int, ranks: int) -> None:
    """Draw an arrow from sender to receiver."""
    import matplotlib

    colour = matplotlib.colormaps["viridis"](one.chunk.owner / max(1, ranks - 1) * 0.95)
    axes.annotate(
        "",
        xy=(start + one.step, one.receiver),
        xytext=(start + one.step - 1, one.sender),
        arrowprops={"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0},
    )


def as_dict(result: CollectiveResult) -> dict[str, Any]:
    """Figures of a collective alone, with units in the keys."""
    return {
        **asdict(result),
        "algorithm_gb_per_s": result.algorithm_gb_per_s,
        "bus_gb_per_s": result.bus_gb_per_s,
        "share_of_bound": result.share_of_bound,
    }


def result_table(result: CollectiveResult) -> Table:
    """Table of a collective alone."""
    rows = [
        ["message, MiB", f"{result.message_bytes / 2**20:,.3f}"],
        ["time, µs", f"{result.time_ns / 1e3:,.2f}"],
        ["algorithm bandwidth, GB/s", f"{result.algorithm_gb_per_s:,.1f}"],
        ["bus bandwidth, GB/s", f"{result.bus_gb_per_s:,.1f}"],
        ["least time of links and memory, µs", f"{result.bound_ns / 1e3:,.2f}"],
        ["share of the bound", f"{result.share_of_bound:.1%}"],
        ["sent, MiB", f"{result.sent_bytes / 2**20:,.3f}"],
        ["read, MiB", f"{result.read_bytes / 2**20:,.3f}"],
        ["written, MiB", f"{result.written_bytes / 2**20:,.3f}"],
        ["simulated memory channels", str(result.channels)],
    ]
    if result.sums_in_switches:
        rows.insert(-1, ["most sums in the switches", f"{result.sums_in_switches:,}"])
    return Table(("figure of the busiest GPU", "value"), rows, text_columns=1)
