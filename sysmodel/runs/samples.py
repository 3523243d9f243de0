"""From the loop's sampled counters to a timeline of rates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sysmodel.machine.state import ACCESSES, SAMPLES
from sysmodel.machine.wire import WIRE_STATES

from .timeline import Flow, Span, Timeline

if TYPE_CHECKING:
    from sysmodel.machine.machine import Machine

__all__ = ["WIRE_SERIES", "timeline_of"]

WIRE_SERIES = "link's time: {} (share)"
"""Name of the series of a state of :data:`sysmodel.machine.wire.WIRE_STATES`."""


def timeline_of(
    machine: "Machine", spans: list[Span], zero: int, flows: Sequence[Flow] = ()
) -> Timeline:
    """Rates of GPU 0 between the samples, from cycle ``zero`` on, and what lasted."""
    state = machine.state
    fixed = state.fixed[0]
    count, interval = int(fixed["sample_count"]), int(fixed["sample_interval"])
    rows = state.samples[:count]
    rows = rows[rows["time"] >= zero]
    ns = interval * machine.system.cycle_ns
    change = {name: np.diff(rows[name]) for name in SAMPLES}
    atom = machine.system.dram.atom_bytes * machine.whole / ns
    series = {f"DRAM {name.replace('_', ' ')} (bytes/ns)": change[name] * atom for name in ACCESSES}
    series["link (bytes/ns)"] = change["link"] * machine.whole / ns
    series["tiles complete (per us)"] = change["tiles"] / ns * 1e3
    series["DRAM queue, channel 0 (entries)"] = change["occupancy"] / interval
    # What is left of a cycle that is not used may be a rounding error below nothing.
    each = np.diff(rows["wire_cycles"], axis=0).clip(0) / interval
    series |= {WIRE_SERIES.format(what): each[:, i] for i, what in enumerate(WIRE_STATES)}
    series["workgroups finished (per us)"] = change["finished"] / ns * 1e3
    return Timeline(bucket_ns=ns, series=series, spans=spans, flows=list(flows), first_cycle=zero)
