"""Golden criticality unit behind the ports of the RTL unit."""

import numpy as np

from sysmodel.engine.golden import GoldenState
from sysmodel.engine.golden.trigger.congestion import step_congestion
from sysmodel.engine.golden.trigger.criticality import CriticalityInputs, step_criticality

__all__ = ["step_unit"]


def step_unit(
    state: GoldenState, *, oldest: int, held_up: int, aborting: bool, **inputs: int
) -> None:
    """Advance the first context's unit by one cycle. ``held_up`` has a bit for each channel whose
    DRAM queue is full and whose link has no packet; with these cuts, one entry fills a queue.
    """
    own, unit = state.contexts[0], state.contexts[0]["criticality"]
    own["window"]["oldest"] = oldest
    state.config["arbiter"]["cuts"][2] = 1
    state.channels["occupancy"] = held_up >> np.arange(len(state.channels)) & 1
    step_congestion(state.config, unit, state.channels, False, inputs["tick"])
    now = CriticalityInputs(**inputs, aborted=aborting)
    step_criticality(state.config, unit, own["launch"], own["window"], now)
