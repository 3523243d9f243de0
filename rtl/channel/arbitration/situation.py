"""What a policy decides from."""

from dataclasses import dataclass

from amaranth.hdl import Value
from amaranth.lib import data

__all__ = ["Situation"]


@dataclass(frozen=True)
class Situation:
    """The arbiter's inputs and registers in a cycle.

    Attributes
    ----------
    compute, communication : Value
        The stream has a request.
    last : Value
        :class:`~rtl.interface.encodings.Origin` of the last request that was taken.
    starved, compute_starved : Value
        Cycles that the communication request, and the compute request, has waited; 16 bits,
        saturates.
    occupancy : Value
        Entries of the DRAM queue.
    configuration : View
        Of :func:`~rtl.interface.configuration.ArbiterConfiguration`.
    measured : Value
        Threshold that the last measurement chose, 127 for none.
    active, relaxed, critical, congested : Value
        What :class:`~rtl.trigger.criticality.Criticality` tells.
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
