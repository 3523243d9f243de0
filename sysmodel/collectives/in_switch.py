"""In-switch: every rank sends its data once; switches add them, and copy the sums to all ranks.

A rank's own contribution to its chunk also goes to the switch, as on NVIDIA's NVLink SHARP. All
ranks send the chunks in one order, because a switch holds a sum until its last packet has come.
"""

from dataclasses import replace

from .algorithm import Algorithm
from .costs import Costs
from .direct import ALGORITHM as DIRECT
from .group import Group
from .multicast import ALGORITHM as MULTICAST
from .schedule import Flow, RankedStage, Stage

__all__ = ["ALGORITHM"]


def _reduce_scatter(group: Group) -> tuple[Stage, ...]:
    """Flows of the direct reduce-scatter, with packets that the network adds."""
    (direct,) = DIRECT.stages["reduce-scatter"](group)

    def of_rank(rank: int) -> tuple[Flow, ...]:
        flows = (replace(flow, merged=True) for flow in direct.of_rank(group, rank))
        return tuple(sorted(flows, key=lambda flow: flow.chunk.owner))

    return (RankedStage(reduces=True, flows=of_rank(0), ranked=of_rank),)


def _scattered(group: Group) -> Costs:
    """Costs of a reduce-scatter, whose sums come from the switch."""
    ranks = group.ranks
    return Costs(sent=ranks, received=1, read=ranks, written=1, messages=ranks, steps=1)


ALGORITHM = Algorithm(
    name="in-switch",
    summary="switches add the data of all ranks, and copy each sum to all of them",
    stages={
        "reduce-scatter": _reduce_scatter,
        "all-gather": MULTICAST.stages["all-gather"],
    },
    costs={"reduce-scatter": _scattered, "all-gather": MULTICAST.costs["all-gather"]},
    streams=True,
)
