"""Multi-ring: a part of each chunk goes around each of several rings, so all links are busy.

On a full mesh the rings share no link. N ranks have N - 1 rings, which use every link; but 4 and 6
ranks, which have no more, and even numbers above 32 have N - 2.
"""

from .algorithm import Algorithm, Stages
from .costs import Costs, reduced
from .group import Group
from .hamiltonian import Ring, disjoint_rings
from .ring import ALGORITHM as RING
from .schedule import Chunk, Flow, Operation, RankedStage, Stage

__all__ = ["ALGORITHM"]


def _rings(ranks: int) -> int:
    return len(disjoint_rings(ranks))


def _on(ring: Ring, part: int, place: int, flow: Flow, group: Group) -> Flow:
    """Return the flow of the rank at a place of a ring, from that of rank 0 of the plain ring."""
    there = flow.shifted(group, place)
    peers = tuple(ring[peer] for peer in there.to)
    return Flow(
        Chunk(ring[there.chunk.owner], part=part), there.own, there.arrivals, peers, there.keeps
    )


def _on_all(operation: Operation) -> Stages:
    """Stages of the plain ring on every ring side by side, step by step."""

    def stages(group: Group) -> tuple[Stage, ...]:
        (plain,) = RING.stages[operation](group)
        rings = disjoint_rings(group.ranks)

        def flows(rank: int) -> tuple[Flow, ...]:
            places = [ring.index(rank) for ring in rings]
            return tuple(
                _on(ring, part, places[part], flow, group)
                for flow in plain.flows
                for part, ring in enumerate(rings)
            )

        return (RankedStage(plain.reduces, flows(0), flows),)

    return stages


def _scattered(group: Group) -> Costs:
    others = group.ranks - 1
    return reduced(group.ranks, messages=_rings(group.ranks) * others, steps=others)


def _gathered(group: Group) -> Costs:
    others = group.ranks - 1
    return Costs(
        sent=others,
        received=others,
        read=others,
        written=others,
        messages=_rings(group.ranks) * others,
        steps=others,
    )


ALGORITHM = Algorithm(
    name="multi-ring",
    summary="a ring over each of several ways through a full mesh, with a part of each chunk",
    stages={
        "reduce-scatter": _on_all("reduce-scatter"),
        "all-gather": _on_all("all-gather"),
    },
    costs={"reduce-scatter": _scattered, "all-gather": _gathered},
    parts=_rings,
)
