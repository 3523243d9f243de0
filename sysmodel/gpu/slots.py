"""Activities of the workgroup slots, with the cycles that the slots spend in each."""

from typing import Any

from sysmodel.lib.compiled import inlined

__all__ = [
    "AWAITS_L2",
    "AWAITS_LINK",
    "AWAITS_MEMORY",
    "EMPTY",
    "FILLS_LDS",
    "ON_PIPE",
    "SLOT_STATES",
    "STARTS",
    "STORES_OUTPUT",
    "enter",
]

SLOT_STATES = 8
EMPTY, STARTS, AWAITS_L2, AWAITS_MEMORY, FILLS_LDS, ON_PIPE, STORES_OUTPUT, AWAITS_LINK = range(
    SLOT_STATES
)
"""Activities of a slot. The wait for a step's data is attributed to the source of the last data, L2
(including the CU's port to it) or memory. On the pipe, the workgroup computes or waits for another
computing workgroup. It stores from the end of its last step on, except while its last store waits
behind stores that the link has not taken.
"""


@inlined
def enter(gpu: Any, slot: int, state: int, now: int) -> None:
    """Switch a slot to another activity."""
    gpu.slot_cycles[gpu.slot_state[slot]] += now - gpu.slot_since[slot]
    gpu.slot_state[slot] = state
    gpu.slot_since[slot] = now
