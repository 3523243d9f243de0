"""Golden criticality unit behind the ports of the RTL's."""

import numpy as np

from sysmodel.engine.golden import GoldenState
from sysmodel.engine.golden.trigger.congestion import step_congestion
from sysmodel.engine.golden.trigger.criticality import CriticalityInputs, step_criticality

__all__ = ["step_unit"]


def step_unit(
    state: GoldenState, *, oldest: int, dispatch_limit: int, held_up: int, aborting: bool, **inputs
) -> None:
    """Move the first context's unit on by one cycle. ``held_up`` has a bit for each channel: its
    DRAM queue has an entry, which is full with these cuts, and its link has no packet."""
    own, unit = state.contexts[0], state.contexts[0]["criticality"]
    own["window"]["oldest"], own["window"]["dispatch_limit"] = oldest, dispatch_limit
    state.config["arbiter"]["cuts"][2] = 1
    state.channels["occupancy"] = held_up >> np.arange(len(state.channels)) & 1
    step_congestion(state.config, unit, state.channels, False, inputs["tick"])
    inputs = CriticalityInputs(**inputs, aborted=aborting)
    step_criticality(state.config, unit, own["launch"], own["window"], inputs)
