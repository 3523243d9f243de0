"""Halving-doubling: ranks exchange with partners at distances that are powers of two."""

from .algorithm import Algorithm
from .costs import Costs, reduced
from .group import Group, powers_of_two
from .schedule import Chunk, Flow, Stage

__all__ = ["ALGORITHM"]


def _distances(group: Group) -> tuple[int, ...]:
    """Distances of the partners, the nearest first."""
    return tuple(1 << bit for bit in range((group.ranks - 1).bit_length()))


def _reduce_scatter(group: Group) -> tuple[Stage, ...]:
    """Recursive halving: the half that is the partner's leaves, beginning with the farthest one.

    The highest bit of a relative owner is the distance of the partner that gets the chunk. Each
    farther partner has sent its part of the chunk before.
    """
    distances = _distances(group)
    leaving = tuple(
        Flow(
            Chunk(owner),
            arrivals=sum(farther > distance for farther in distances),
            to=(distance,),
        )
        for distance in reversed(distances)
        for owner in range(distance, 2 * distance)
    )
    own = Flow(Chunk(0), arrivals=len(distances), keeps=True)
    return (Stage(reduces=True, flows=(*leaving, own)),)


def _all_gather(group: Group) -> tuple[Stage, ...]:
    """Recursive doubling: each chunk goes on to all partners beyond the one that sent it."""
    distances = _distances(group)
    flows = tuple(
        Flow(
            Chunk(owner),
            own=owner == 0,
            arrivals=int(owner != 0),
            to=tuple(distance for distance in distances if distance > owner),
            keeps=True,
        )
        for owner in range(group.ranks)
    )
    return (Stage(reduces=False, flows=flows),)


def _scattered(group: Group) -> Costs:
    """Halves of the halves: N/2 + N/4 + ... + 1 chunks."""
    return reduced(group.ranks, messages=group.ranks - 1, steps=len(group.sizes))


def _gathered(group: Group) -> Costs:
    """The first half of the chunks is sent on, the second half arrives in the last step."""
    others = group.ranks - 1
    return Costs(
        sent=others,
        received=others,
        read=group.ranks // 2,
        written=others,
        messages=others,
        steps=len(group.sizes),
    )


ALGORITHM = Algorithm(
    name="halving-doubling",
    summary="exchanges at distances of powers of two; few steps; powers of two only",
    stages={"reduce-scatter": _reduce_scatter, "all-gather": _all_gather},
    costs={"reduce-scatter": _scattered, "all-gather": _gathered},
    group=powers_of_two,
)
