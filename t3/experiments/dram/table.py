"""Results of a pattern on a channel, as a table and as JSON."""

from typing import Any

import numpy as np

from sysmodel.config.system import System
from t3.report.terminal import terminal, terminal_table

from .serve import Served

__all__ = ["as_dict", "print_served"]

_PERCENTILES = (50, 95, 99)


def as_dict(served: Served, system: System) -> dict[str, Any]:
    """Compute the figures of one HBM channel; the keys contain the units."""
    clock_ns = 1e3 / system.dram.clock_mhz
    atom = system.dram.atom_bytes
    peak = served.timing.pseudo_channels * atom / (served.timing.burst * clock_ns)
    figures: dict[str, Any] = {
        "requests": len(served.issued_at),
        "time_ns": served.cycles * clock_ns,
        "bandwidth_gb_per_s": served.share_of_peak * peak,
        "peak_gb_per_s": peak,
        "share_of_peak": served.share_of_peak,
        "row_hit_share": served.row_hits / len(served.issued_at),
        "activates": served.activates,
        "refreshes": served.refreshes,
    }
    latency_ns = served.latency_cycles * clock_ns
    if len(latency_ns):
        figures["read_latency_ns"] = {
            "least": float(latency_ns.min()),
            "mean": float(latency_ns.mean()),
            **{f"p{p}": float(np.percentile(latency_ns, p)) for p in _PERCENTILES},
            "most": float(latency_ns.max()),
        }
    return figures


def print_served(served: Served, system: System, pattern: str) -> None:
    """Print the figures of one HBM channel."""
    figures = as_dict(served, system)
    dram = system.dram
    table = terminal_table(f"One HBM channel of {system.name}: {pattern}", "figure", "value")
    table.add_row("memory", f"{dram.standard or 'own timing'}, {dram.clock_mhz:g} MHz")
    table.add_row(
        "bandwidth",
        f"{figures['bandwidth_gb_per_s']:.2f} of {figures['peak_gb_per_s']:.2f} GB/s",
    )
    table.add_row("share of the peak", f"{figures['share_of_peak']:.4f}")
    table.add_row("row hits", f"{100 * figures['row_hit_share']:.1f} %")
    table.add_row("requests", f"{figures['requests']:,} in {figures['time_ns'] / 1e3:,.1f} us")
    table.add_row("activates, refreshes", f"{served.activates:,}, {served.refreshes:,}")
    latency = figures.get("read_latency_ns", {})
    for name, value in latency.items():
        table.add_row(f"read latency, {name}", f"{value:,.1f} ns")
    terminal().print(table)
