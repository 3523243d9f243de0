"""What the workgroup slots of the compute units spend their time on, from event to event."""

from typing import Any

from sysmodel.lib.compiled import inlined

__all__ = [
    "AWAITS_L2",
    "AWAITS_MEMORY",
    "EMPTY",
    "FILLS_LDS",
    "ON_PIPE",
    "SLOT_STATES",
    "STARTS",
    "STORES_OUTPUT",
    "enter",
]

SLOT_STATES = 7
EMPTY, STARTS, AWAITS_L2, AWAITS_MEMORY, FILLS_LDS, ON_PIPE, STORES_OUTPUT = range(SLOT_STATES)
"""A slot awaits what a step's last data came from, with the L2 the compute unit's port to it. On
the pipe its workgroup computes, or waits for another one that does. It stores from its last step's
end on."""


@inlined
def enter(gpu: Any, slot: int, state: int, now: int) -> None:
    """From now on the slot's workgroup does something else."""
    gpu.slot_cycles[gpu.slot_state[slot]] += now - gpu.slot_since[slot]
    gpu.slot_state[slot] = state
    gpu.slot_since[slot] = now
