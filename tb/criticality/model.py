"""The golden criticality unit behind the ports of the RTL's."""

import numpy as np

from sysmodel.engine.golden.congestion import follow_congestion
from sysmodel.engine.golden.criticality import step_criticality
from sysmodel.engine.golden.state import GoldenState

__all__ = ["step_unit"]


def step_unit(
    state: GoldenState,
    *,
    dispatched: int,
    finished: int,
    oldest: int,
    dispatch_limit: int,
    issued: bool,
    held_up: int,
    launch: bool,
    aborting: bool,
    tick: bool,
) -> None:
    """One cycle of the first context's unit. ``held_up`` has a bit for each channel: its DRAM queue
    has an entry, which with these cuts is full, and its link has nothing to send."""
    own = state.contexts[0]
    own["oldest"], own["dispatch_limit"], own["aborted"] = oldest, dispatch_limit, aborting
    state.config["arbiter"]["cuts"][2] = 1
    state.channels["occupancy"] = held_up >> np.arange(len(state.channels)) & 1
    follow_congestion(state, 0, False, tick)
    step_criticality(state, 0, dispatched, finished, issued, launch, tick)
