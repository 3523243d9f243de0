"""Gate of workgroups that wait for a launch of another context of the same GPU."""

from dataclasses import dataclass

from .registers import Write

__all__ = ["Gate", "gate_writes"]


@dataclass(frozen=True)
class Gate:
    """Dispatch gate of a range: its workgroups start once another context has completed slots.

    Parameters
    ----------
    context : int
        Number of the awaited context, which the mask of :meth:`~.assignment.Assignment.may_await`
        must name.
    generation : int
        Generation of the awaited launch: the launch of the context that has this generation, or
        the next one that gets it. A launch of up to seven generations before counts, too, unless
        the context was aborted since.
    slot : int
        The first workgroups start once all slots below this one are complete.
    workgroups : int
        Workgroups that start together; 0: the whole range.
    slots : int
        Slots that must be complete in addition for each further ``workgroups``.
    """

    context: int
    generation: int
    slot: int = 0
    workgroups: int = 0
    slots: int = 0


def gate_writes(gate: Gate | None) -> list[Write]:
    """Make the writes that stage a range's gate, or that it has none."""
    if gate is None:
        return [("RANGE_GATE", {})]
    first = {"context": gate.context, "generation": gate.generation, "slot": gate.slot}
    return [
        ("RANGE_GATE", first | {"enable": 1}),
        ("RANGE_BAND", {"workgroups": gate.workgroups, "slots": gate.slots}),
    ]
