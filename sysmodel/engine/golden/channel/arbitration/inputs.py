"""Inputs of an arbitration policy in one cycle."""

from typing import NamedTuple

from sysmodel.engine.golden.records import Record, Records, record
from sysmodel.lib.compiled import inlined

__all__ = [
    "ARBITER_INPUTS",
    "NO_LIMIT",
    "ArbiterInputs",
    "calm",
    "combine_contexts",
    "compute_is_due",
    "urgent",
]

NO_LIMIT = 127
"""Threshold without a limit."""

ARBITER_INPUTS = record("kernel_active all_relaxed any_critical any_congested")
"""Signals of the criticality units of all contexts together."""


class ArbiterInputs(NamedTuple):
    """Inputs and registers of the arbiter.

    Attributes
    ----------
    compute, communication : bool
        The stream has a request.
    registers : record
        Record :data:`~.arbiter.ARBITER_STATE`.
    occupancy : int
        Entries of the DRAM queue.
    configuration : record
        Record :data:`~sysmodel.engine.golden.payloads.layouts.ARBITER`.
    measured : int
        Threshold that the last measurement chose, :data:`NO_LIMIT` for none.
    signals : record
        Record :data:`ARBITER_INPUTS`.
    """

    compute: bool
    communication: bool
    registers: Record
    occupancy: int
    configuration: Record
    measured: int
    signals: Record


@inlined
def calm(now: ArbiterInputs) -> bool:
    """Return whether the DRAM queue holds fewer entries than the threshold."""
    configuration = now.configuration
    threshold = now.measured if configuration.automatic else configuration.threshold
    return threshold == NO_LIMIT or now.occupancy < threshold


@inlined
def urgent(now: ArbiterInputs) -> bool:
    """Return whether communication has waited for ``starvation_limit`` cycles, and goes next: if
    compute has waited for as long, they take turns.
    """
    limit = max(1, now.configuration.starvation_limit)
    if now.registers.starved < limit:
        return False
    return not compute_is_due(now) or now.registers.arbiter_last == 0


@inlined
def compute_is_due(now: ArbiterInputs) -> bool:
    """Return whether a compute request has waited for ``starvation_limit`` cycles."""
    limit = max(1, now.configuration.starvation_limit)
    return now.compute and now.registers.compute_starved >= limit


@inlined
def combine_contexts(inputs: Record, contexts: Records, count: int) -> None:
    """Combine the outputs of the criticality units of all contexts. Communication is relaxed only
    if it is relaxed in every active context."""
    active = critical = congested = 0
    relaxed = 1
    for context in range(count):
        own = contexts[context].criticality
        active |= own.active
        critical |= own.critical
        congested |= own.congested
        if own.active and not own.relaxed:
            relaxed = 0
    inputs.kernel_active, inputs.any_critical, inputs.any_congested = active, critical, congested
    inputs.all_relaxed = active & relaxed
