"""Inputs of an arbitration policy."""

from dataclasses import dataclass

from amaranth.hdl import Value
from amaranth.lib import data

__all__ = ["ArbiterInputs"]


@dataclass(frozen=True)
class ArbiterInputs:
    """Inputs and registers of the arbiter in a cycle.

    Attributes
    ----------
    compute, communication : Value
        The stream has a request.
    last : Value
        :class:`~rtl.interface.encodings.Origin` of the last accepted request.
    starved, compute_starved : Value
        Cycles for which the communication request and the compute request have waited; 16 bits,
        saturating.
    occupancy : Value
        Entries of the DRAM queue.
    configuration : View
        View of :func:`~rtl.interface.configuration.ArbiterConfiguration`.
    measured : Value
        Threshold that the last measurement selected, 127 for no limit.
    active, relaxed, critical, congested : Value
        Outputs of :class:`~rtl.trigger.criticality.Criticality`.
    """

    compute: Value
    communication: Value
    last: Value
    starved: Value
    compute_starved: Value
    occupancy: Value
    configuration: data.View
    measured: Value
    active: Value
    relaxed: Value
    critical: Value
    congested: Value
