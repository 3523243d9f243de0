"""Conversion of the loop's sampled counters to a timeline of rates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sysmodel.machine.state import SAMPLES
from sysmodel.machine.wire import WIRE_STATES

from .timeline import Flow, Span, Timeline

if TYPE_CHECKING:
    from sysmodel.machine.machine import Machine

__all__ = ["WIRE_SERIES", "dram_series", "timeline_of"]

WIRE_SERIES = "link's time: {} (share)"
"""Name of the series for a state of :data:`sysmodel.machine.wire.WIRE_STATES`."""


def dram_series(category: str) -> str:
    """Name of the series of accesses of an activity, such as ``rs_read``."""
    return f"DRAM {category.replace('_', ' ')} (bytes/ns)"


def timeline_of(
    machine: "Machine",
    spans: list[Span],
    zero: int,
    flows: Sequence[Flow] = (),
    *,
    names: Sequence[str],
    link_gb_per_s: float,
) -> Timeline:
    """Make a timeline of the rates of GPU 0 between the samples, from cycle ``zero`` on.

    ``names`` are those of the program's activities, by number; ``link_gb_per_s`` is the line rate
    at which a GPU can send.
    """
    state = machine.state
    fixed = state.fixed[0]
    count, interval = int(fixed["sample_count"]), int(fixed["sample_interval"])
    rows = state.samples[:count]
    rows = rows[rows["time"] >= zero]
    ns = interval * machine.system.cycle_ns
    change = {name: np.diff(rows[name]) for name in SAMPLES}
    whole = float(machine.whole)
    atom = machine.system.dram.atom_bytes * whole / ns
    accesses = {way: np.diff(rows[f"{way}s"], axis=0) for way in ("read", "write")}
    series = {
        dram_series(f"{name}_{way}"): made[:, number] * atom
        for number, name in enumerate(names)
        for way, made in accesses.items()
    }
    on_line = whole / machine.payload_share
    series["link (bytes/ns)"] = change["link"] * on_line / ns
    series["tiles complete (per us)"] = change["tiles"] / ns * 1e3
    series["DRAM queue, channel 0 (entries)"] = change["occupancy"] / interval
    # A rounding error may leave a negative time for a state.
    each = np.diff(rows["wire_cycles"], axis=0).clip(0) / interval
    series |= {WIRE_SERIES.format(what): each[:, i] for i, what in enumerate(WIRE_STATES)}
    series["workgroups finished (per us)"] = change["finished"] / ns * 1e3
    return Timeline(
        bucket_ns=ns,
        series=series,
        spans=spans,
        flows=list(flows),
        first_cycle=zero,
        link_gb_per_s=link_gb_per_s,
    )
