"""Bidirectional ring: half of each chunk goes around each way, so both directions are busy."""

from .algorithm import Algorithm, Stages
from .costs import Costs, reduced
from .group import Group
from .ring import ALGORITHM as RING
from .schedule import Chunk, Flow, Operation, Stage

__all__ = ["ALGORITHM"]


def _mirrored(flow: Flow, group: Group) -> Flow:
    """Return the flow of the second part on the way in the other direction."""
    chunk = Chunk(group.relative(0, flow.chunk.owner), part=1)
    peers = tuple(group.relative(0, peer) for peer in flow.to)
    return Flow(chunk, flow.own, flow.arrivals, peers, flow.keeps)


def _both_ways(operation: Operation) -> Stages:
    """Stages of the ring, each flow beside that of the other direction."""

    def stages(group: Group) -> tuple[Stage, ...]:
        (ring,) = RING.stages[operation](group)
        pairs = ((flow, _mirrored(flow, group)) for flow in ring.flows)
        return (Stage(ring.reduces, tuple(flow for pair in pairs for flow in pair)),)

    return stages


def _scattered(group: Group) -> Costs:
    return reduced(group.ranks, messages=2 * (group.ranks - 1), steps=group.ranks - 1)


def _gathered(group: Group) -> Costs:
    others = group.ranks - 1
    return Costs(
        sent=others, received=others, read=others, written=others, messages=2 * others, steps=others
    )


ALGORITHM = Algorithm(
    name="bidirectional",
    summary="a ring in both directions, with half of each chunk on each",
    stages={
        "reduce-scatter": _both_ways("reduce-scatter"),
        "all-gather": _both_ways("all-gather"),
    },
    costs={"reduce-scatter": _scattered, "all-gather": _gathered},
    parts=2,
)
